//! The client against servers on loopback: raw ones that send exactly what a test wrote, hyper's
//! for HTTP/2 and TLS, recordings of real ones, and the ground-truth server.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod allocations;
mod answers;
mod captures;
mod connections;
mod control;
mod differential;
mod encrypted;
#[cfg(feature = "http2")]
mod http2;
mod memory;
mod mock;
mod openssl;
mod precise;
#[cfg(feature = "http2")]
mod refused_streams;
mod resending;
mod stamps;
mod support;
mod text_reader;
mod timeouts;
mod trust;
