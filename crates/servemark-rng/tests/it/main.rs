//! Sequences of draws that the Python benchmarking clients make, with Python's results.

#![expect(clippy::float_cmp, clippy::unreadable_literal, reason = "numbers as Python prints them")]

mod aisbench;
mod properties;
mod sglang;
mod vllm;
