//! How a request fails. A failed request is data: it is recorded, counted and shown.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why one request failed. Errors are told apart by [`ErrorKind`], never by their text.
#[derive(Clone, Debug, Deserialize, Eq, Error, Hash, PartialEq, Serialize)]
#[error("{kind}: {message}")]
#[non_exhaustive]
pub struct RequestError {
    /// What sort of failure it is.
    pub kind: ErrorKind,
    /// What happened, with an excerpt of the server's own words where there are any.
    pub message: String,
    /// Whether waiting cannot mend it: the server's name has no address, its certificate or our key is
    /// refused, or the scheme is wrong.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_permanent: bool,
}

impl RequestError {
    /// A failure of `kind` with its story.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), is_permanent: false }
    }
}

/// The sorts of failure, in the order in which a request meets them.
#[derive(
    Clone, Copy, Debug, Deserialize, Eq, Error, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request could not be built from the sample.
    #[error("encode")]
    Encode,
    /// No connection: refused, reset, unreachable, or lost while the request was being sent.
    #[error("connect")]
    Connect,
    /// The server did not process the request, and it was not sent once more: it was lost on a
    /// reused connection, or refused on a shared one.
    #[error("not processed")]
    NotProcessed,
    /// The TLS handshake failed.
    #[error("tls")]
    Tls,
    /// A time-out passed: connect, first byte, idle or total.
    #[error("timeout")]
    Timeout,
    /// The server answered with a status other than 200.
    #[error("status")]
    Status,
    /// The stream was a 200 and then carried an error object.
    #[error("in-stream error")]
    InStream,
    /// The server sent something that is not the dialect.
    #[error("decode")]
    Decode,
    /// The answer holds more memory than it may.
    #[error("answer too large")]
    AnswerTooLarge,
    /// A 200 without a single output token.
    #[error("empty")]
    Empty,
    /// The stream ended before the dialect says it may.
    #[error("truncated")]
    Truncated,
    /// We stopped it.
    #[error("cancelled")]
    Cancelled,
}
