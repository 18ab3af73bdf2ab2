//! The project's own chores: tidy and conformance.

fn main() {}
