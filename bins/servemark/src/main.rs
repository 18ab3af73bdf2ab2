//! Put servemark in front of the command you already run; also score.

fn main() {}
