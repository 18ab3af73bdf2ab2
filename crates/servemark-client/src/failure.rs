//! What an error of hyper means, by its predicates and by the kind of the I/O error within; never
//! by its text.

use std::error::Error;
use std::io;

use crate::base_url::BaseUrl;
use crate::error::{ClientError, ClientErrorKind};

/// The request got no answer.
pub(crate) fn before_head(base: &BaseUrl, error: hyper::Error) -> ClientError {
    let (kind, message) = if error.is_parse() {
        (ClientErrorKind::Decode, format!("{base} answered what is not HTTP"))
    } else if error.is_incomplete_message() {
        (ClientErrorKind::Connect, format!("{base} closed the connection without an answer"))
    } else {
        (ClientErrorKind::Connect, format!("the connection to {base} was lost before the answer"))
    };
    ClientError::new(kind, message).caused_by(error)
}

/// The answer broke off, or its framing is wrong.
pub(crate) fn in_body(error: hyper::Error) -> ClientError {
    let malformed =
        matches!(io_kind(&error), Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput));
    let (kind, message) = if malformed || error.is_parse() {
        (ClientErrorKind::Decode, "the framing of the answer is not HTTP")
    } else {
        (ClientErrorKind::Truncated, "the connection was lost in the middle of the answer")
    };
    ClientError::new(kind, message).caused_by(error)
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
