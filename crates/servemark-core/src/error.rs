//! Errors of requests. A failed request is data: it is recorded, counted and shown.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why one request failed. Code distinguishes errors by [`ErrorKind`], never by their text.
///
/// ```
/// use servemark_core::{ErrorKind, RequestError};
///
/// let error = RequestError::new(ErrorKind::Status, "500: out of memory");
/// assert_eq!(error.kind, ErrorKind::Status);
/// assert_eq!(error.to_string(), "status: 500: out of memory");
/// ```
#[derive(Clone, Debug, Deserialize, Eq, Error, Hash, PartialEq, Serialize)]
#[error("{kind}: {message}")]
#[non_exhaustive]
pub struct RequestError {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// What happened, with an excerpt of the server's own message where there is one.
    pub message: String,
    /// Whether waiting cannot help: the server's name has no address, its certificate or our key is
    /// refused, or the scheme is wrong.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_permanent: bool,
}

impl RequestError {
    /// Creates a failure of `kind`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), is_permanent: false }
    }
}

/// The kinds of failure, in the order in which they can occur during a request.
#[derive(
    Clone, Copy, Debug, Deserialize, Eq, Error, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request could not be built from the sample.
    #[error("encode")]
    Encode,
    /// There was no connection: refused, reset, unreachable, or lost while the request was being
    /// sent.
    #[error("connect")]
    Connect,
    /// The server did not process the request, and it was not sent again: it was lost on a reused
    /// connection, or refused on a shared one.
    #[error("not processed")]
    NotProcessed,
    /// The TLS handshake failed.
    #[error("tls")]
    Tls,
    /// A time-out expired: connect, first byte, idle or total.
    #[error("timeout")]
    Timeout,
    /// The server answered with a status other than 200.
    #[error("status")]
    Status,
    /// The status was 200 and the stream then carried an error object.
    #[error("in-stream error")]
    InStream,
    /// The server sent something that is not valid in the dialect.
    #[error("decode")]
    Decode,
    /// The answer needs more memory than the limit allows.
    #[error("answer too large")]
    AnswerTooLarge,
    /// The status was 200 and the answer had no output token.
    #[error("empty")]
    Empty,
    /// The stream ended before the dialect allows it.
    #[error("truncated")]
    Truncated,
    /// This program stopped the request.
    #[error("cancelled")]
    Cancelled,
}

/// Returns the message of an error followed by those of all its causes.
///
/// ```
/// use std::path::Path;
///
/// use servemark_core::{RunLog, with_causes};
///
/// let error = RunLog::read(Path::new("absent")).unwrap_err();
/// let message = with_causes(&error);
/// assert!(message.starts_with("cannot read the run log absent: "), "{message}");
/// ```
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message.push_str(": ");
        message.push_str(&error.to_string());
        cause = error.source();
    }
    message
}
