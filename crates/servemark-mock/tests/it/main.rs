//! The server as a client sees it: raw bytes over a socket.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail as its assertions do")]

mod client;
mod connections;
mod faults;
mod metrics;
mod openai;
mod routes;
mod sdk;
mod truth;
