//! Sequences of draws as the Python benchmarking clients make them, with what Python drew.

#![expect(clippy::float_cmp, clippy::unreadable_literal, reason = "numbers as Python prints them")]

mod aisbench;
mod properties;
mod sglang;
mod vllm;
