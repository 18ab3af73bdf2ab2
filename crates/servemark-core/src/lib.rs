//! The vocabulary of a benchmark run: stamps, samples, records, the run log and the traits between the crates.
