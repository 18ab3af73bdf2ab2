//! Servemark, embedded: execute a benchmark plan, or compose the crates yourself.
