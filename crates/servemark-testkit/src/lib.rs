//! Scripted transports, stream fixtures and golden helpers for this workspace's tests.

pub mod bodies;
pub mod browser;
mod byte_tokenizer;
pub mod captures;
mod hub;
mod scripted;

pub use byte_tokenizer::ByteTokenizer;
pub use hub::{COMMIT, HubFile, ReceivedRequest, StandInHub};
pub use scripted::{Script, ScriptedTransport};
