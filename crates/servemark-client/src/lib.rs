//! The HTTP transport: connections, TLS, time-outs, stamps, and the server's control routes.
//!
//! [`HttpTransport`] sends the requests of any [`Backend`](servemark_backends::Backend) to a
//! [`Target`] and gives the answer to its decoder with the arrival time of every read.
//! [`ServerControl`] makes the calls around a run, [`TextReader`] reads metrics during one,
//! [`Fetch`] reads a file, and [`Capacity`] checks beforehand whether the machine has enough
//! descriptors and ports.
//!
//! HTTP/2 is behind the feature `http2`.
//!
//! The crate knows no dialect, no schedule and no metric. It never sends a request a second time
//! that the server may have processed, and it never shows a credential.

mod answer;
mod boxed;
mod coding;
mod control;
mod credentials;
mod dial;
mod direct;
mod error;
mod exchange;
mod failure;
mod fetch;
#[cfg_attr(not(feature = "http2"), path = "http2/absent.rs")]
mod http2;
mod limits;
mod link;
mod opening;
mod pool;
mod precise;
mod receive;
mod request;
mod reservation;
mod reuse;
mod stamp_io;
mod status;
mod stream;
mod target;
mod text;
mod text_answer;
mod text_connection;
mod text_reader;
mod tls;
mod transmit_stamp;
mod transport;
mod watch;
mod web_page;

pub use control::{ModelInfo, ServedModel, ServerControl, ServerInfo};
pub use credentials::Credentials;
pub use error::{ClientError, ClientErrorKind};
pub use fetch::Fetch;
pub use limits::{Capacity, open_files, raise_nofile};
pub use servemark_target::{
    AnswerLimits, BaseUrl, BaseUrlError, Http1Stack, HttpVersion, MetricsUrl, MetricsUrlError,
    NotPrecise, OpeningSpec, ReuseSpec, TargetSpec, Timeouts,
};
pub use target::Target;
pub use text::{Text, TextPool};
pub use text_connection::{TextConnection, TextLoss};
pub use text_reader::TextReader;
pub use transport::{HttpTransport, PreparedRequest};

/// The crate of the pieces that [`Fetch::next`] returns.
pub use bytes;
