//! Scripted transports, stand-in servers, recorded responses and a browser driver for this
//! workspace's tests.

pub mod bodies;
pub mod browser;
mod byte_tokenizer;
pub mod captures;
mod exporter;
mod hub;
mod scripted;

pub use byte_tokenizer::ByteTokenizer;
pub use exporter::{ExporterAnswer, ScriptedExporter};
pub use hub::{COMMIT, HubFile, ReceivedRequest, StandInHub};
pub use scripted::{Script, ScriptedTransport};
