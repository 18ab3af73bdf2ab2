//! The ground-truth server on a port.

fn main() {}
