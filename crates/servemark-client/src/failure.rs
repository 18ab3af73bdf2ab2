//! What it means that an answer is not there, or not all of it; never told by an error's text.

use std::error::Error;
use std::io;

use servemark_http1::Malformed;

use crate::base_url::BaseUrl;
use crate::error::{ClientError, ClientErrorKind};

/// Why there is no answer, or no more of it.
#[derive(Debug)]
pub(crate) enum Lost {
    /// What came is not HTTP.
    Malformed(Cause),
    /// The connection was closed by the other side, in order.
    Closed(Cause),
    /// The connection broke.
    Broken(Cause),
}

type Cause = Box<dyn Error + Send + Sync>;

impl Lost {
    /// The connection was closed by the other side, in order.
    pub(crate) fn closed() -> Self {
        Self::Closed("the stream ended".into())
    }

    /// The request got no answer.
    pub(crate) fn before_head(self, base: &BaseUrl) -> ClientError {
        let (kind, message, cause) = match self {
            Self::Malformed(cause) => {
                (ClientErrorKind::Decode, format!("{base} answered what is not HTTP"), cause)
            }
            Self::Closed(cause) => {
                let message = format!("{base} closed the connection without an answer");
                (ClientErrorKind::Connect, message, cause)
            }
            Self::Broken(cause) => {
                let message = format!("the connection to {base} was lost before the answer");
                (ClientErrorKind::Connect, message, cause)
            }
        };
        ClientError::new(kind, message).caused_by(cause)
    }

    /// The answer broke off, or its framing is wrong.
    pub(crate) fn in_body(self) -> ClientError {
        let (kind, message, cause) = match self {
            Self::Malformed(cause) => {
                (ClientErrorKind::Decode, "the framing of the answer is not HTTP", cause)
            }
            Self::Closed(cause) | Self::Broken(cause) => {
                let message = "the connection was lost in the middle of the answer";
                (ClientErrorKind::Truncated, message, cause)
            }
        };
        ClientError::new(kind, message).caused_by(cause)
    }
}

impl From<Malformed> for Lost {
    fn from(error: Malformed) -> Self {
        Self::Malformed(error.into())
    }
}

impl From<io::Error> for Lost {
    fn from(error: io::Error) -> Self {
        Self::Broken(error.into())
    }
}

/// By hyper's predicates and by the kind of the I/O error within.
impl From<hyper::Error> for Lost {
    fn from(error: hyper::Error) -> Self {
        let malformed = matches!(
            io_kind(&error),
            Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
        );
        if malformed || error.is_parse() {
            Self::Malformed(error.into())
        } else if error.is_incomplete_message() {
            Self::Closed(error.into())
        } else {
            Self::Broken(error.into())
        }
    }
}

fn io_kind(error: &hyper::Error) -> Option<io::ErrorKind> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        cause = error.source();
    }
    None
}
