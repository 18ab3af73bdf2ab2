//! The error for bytes that are not HTTP.

use thiserror::Error;

/// The bytes are not an HTTP/1 answer; the message says what is wrong with them.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("{reason}")]
pub struct Malformed {
    reason: &'static str,
}

impl Malformed {
    pub(crate) const fn new(reason: &'static str) -> Self {
        Self { reason }
    }
}
