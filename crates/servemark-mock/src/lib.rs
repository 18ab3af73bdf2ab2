//! The ground-truth server: exact schedules, faults on demand, and a log of what was really sent.
//!
//! A [`MockServer`] serves the routes that a benchmarking client calls. Piece `k` of an answer is
//! due at `received + ttft + k * itl`, however late earlier pieces were, and a [`TruthRow`] keeps
//! the time at which each piece was really written. A test of a client compares what the client
//! measured with what was sent; [`Fault`]s show how the client behaves when a server misbehaves.
//!
//! This crate knows no client, no metric and no model: its tokens are words from a short list.
//!
//! ```
//! use std::time::Duration;
//! use servemark_mock::{MockServer, MockSpec};
//!
//! let spec = MockSpec::new(Duration::from_millis(5), Duration::from_millis(1))
//!     .with_fault("status:503/10".parse()?);
//! let server = MockServer::start(spec)?;
//! assert!(server.base_url().starts_with("http://127.0.0.1:"));
//! assert!(server.truth().is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod error;
mod http;
mod imitated;
#[cfg(feature = "program")]
pub mod program;
mod reception;
mod requests;
mod server;
mod truth;

pub use error::MockError;
pub use requests::{ReceivedRequest, write_requests};
pub use servemark_target::{
    ErrorShape, Fault, FaultKind, ImitatedEngine, MockSpec, MockSpecError, ReportedTimes,
    parse_duration,
};
pub use server::MockServer;
pub use truth::{TruthRow, write_truth};

/// The crate of the bodies of [`ReceivedRequest`].
pub use bytes;
