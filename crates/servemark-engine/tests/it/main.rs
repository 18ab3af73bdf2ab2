//! Engines from load to end, and their traces in the records.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(feature = "candle")]
mod candle;
#[cfg(not(unix))]
mod no_worker;
mod scripted;
mod stage;
#[cfg(unix)]
mod transformers;
#[cfg(unix)]
mod worker;
