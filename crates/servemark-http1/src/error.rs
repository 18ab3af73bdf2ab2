//! What makes bytes no HTTP.

use thiserror::Error;

/// The bytes are no answer of HTTP/1; says what is wrong with them.
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
