//! Engines from their load to their end, and what of them is left in the records.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(feature = "candle")]
mod candle;
mod scripted;
mod stage;
mod transformers;
mod worker;
