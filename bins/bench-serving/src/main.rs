//! Online serving benchmark: SGLang's command line and ours.

fn main() {}
