//! The codecs from outside: what is sent, and what is made of an answer's bytes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod aisbench;
mod bodies;
mod captures;
mod counts;
mod decisions;
mod edge_cases;
mod items;
mod properties;
mod reading;
mod vllm;
