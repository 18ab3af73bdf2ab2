//! Micro benchmarks and the client-overhead study.
