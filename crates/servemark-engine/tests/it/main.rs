//! Engines from load to end, and their traces in the records.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(feature = "candle")]
mod candle;
mod scripted;
mod stage;
mod transformers;
mod worker;
