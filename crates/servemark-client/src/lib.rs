//! The HTTP transport: connections, TLS, time-outs, stamps, and the server's control
//! routes.
//!
//! [`HttpTransport`] carries any [`Backend`](servemark_backends::Backend)'s requests to a
//! [`Target`] and hands its decoder the answer with the arrival of every read. [`ServerControl`]
//! makes the calls around a run, [`Fetch`] reads a file, [`Capacity`] says beforehand whether the machine can hold it.
//!
//! This crate knows no dialect, no schedule and no metric. It never sends a request a
//! second time that the server may have processed, and it never shows a credential.

mod answer;
mod base_url;
mod coding;
mod control;
mod credentials;
mod departure;
mod dial;
mod direct;
mod error;
mod exchange;
mod failure;
mod fetch;
mod holding;
mod limits;
mod link;
mod opening;
mod pool;
mod precise;
mod receive;
mod request;
mod reuse;
mod stamp_io;
mod status;
mod stream;
mod target;
mod timeouts;
mod tls;
mod transport;
mod watch;

pub use base_url::BaseUrl;
pub use control::{ModelInfo, ServedModel, ServerControl, ServerInfo};
pub use credentials::Credentials;
pub use error::{ClientError, ClientErrorKind};
pub use fetch::Fetch;
pub use holding::AnswerLimits;
pub use limits::{Capacity, open_files, raise_nofile};
pub use opening::OpeningSpec;
pub use reuse::ReuseSpec;
pub use target::{Http1Stack, HttpVersion, NotPrecise, Target, TargetSpec};
pub use timeouts::Timeouts;
pub use transport::{HttpTransport, PreparedRequest};
