//! Properties of every reader of bytes from outside, as functions of those bytes.
//!
//! libFuzzer calls them from the programs in `fuzz/`; the smoke test of this crate calls them with
//! the corpus and with changed copies of it. A target panics if a property does not hold. This
//! crate depends on no fuzzer.

#![expect(clippy::missing_panics_doc, reason = "a target panics if a property does not hold")]

mod chat;
mod configs;
mod connection;
mod data;
mod exposition;
mod hub;
mod log;
mod scratch;
pub mod smoke;
mod streams;
mod tokenizers;

use std::fmt;

pub use chat::chat_template;
pub use configs::configs;
pub use connection::connection;
pub use data::{data_sets, media};
pub use exposition::exposition;
pub use hub::hub_listing;
pub use log::run_log;
pub use streams::{decoders, http1_body, sse_split};
pub use tokenizers::tokenizers;

/// A property that must hold for any bytes.
#[derive(Clone, Copy)]
pub struct Target {
    /// Name of the target, of its folder in the corpus and of its program.
    pub name: &'static str,
    /// Panics if the property does not hold for the bytes.
    pub run: fn(&[u8]),
    /// Number of changed inputs that the smoke test tries.
    pub smoke: u32,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("name", &self.name).finish_non_exhaustive()
    }
}

/// All targets, sorted by name.
pub const TARGETS: [Target; 12] = [
    Target { name: "chat_template", run: chat_template, smoke: 300 },
    Target { name: "configs", run: configs, smoke: 2_000 },
    Target { name: "connection", run: connection, smoke: 300 },
    Target { name: "data_sets", run: data_sets, smoke: 1_000 },
    Target { name: "decoders", run: decoders, smoke: 5_000 },
    Target { name: "exposition", run: exposition, smoke: 2_000 },
    Target { name: "http1_body", run: http1_body, smoke: 5_000 },
    Target { name: "hub_listing", run: hub_listing, smoke: 5_000 },
    Target { name: "media", run: media, smoke: 300 },
    Target { name: "run_log", run: run_log, smoke: 500 },
    Target { name: "sse_split", run: sse_split, smoke: 5_000 },
    Target { name: "tokenizers", run: tokenizers, smoke: 500 },
];
