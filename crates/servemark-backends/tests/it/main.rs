//! Tests of the codecs through their public interface: the bytes sent, and the output decoded.

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
mod server_times;
mod vllm;
