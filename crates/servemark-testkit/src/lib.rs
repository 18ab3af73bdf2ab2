//! Scripted transports, stream fixtures and golden helpers for this workspace's tests.

pub mod captures;
mod scripted;

pub use scripted::{Script, ScriptedTransport};
