//! Errors of feeding a parser.
//!
//! There is no error for malformed streams, because the grammar gives every byte string a meaning:
//! only the caller's handler and the caller's limit can fail.

use std::error::Error;
use std::fmt;

/// Why [`Parser::feed`](crate::Parser::feed) or [`LineParser::feed`](crate::LineParser::feed)
/// stopped before the end of the bytes.
///
/// Closed on purpose: callers turn both variants into their own error in one exhaustive `match`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FeedError<E> {
    /// The caller's handler of an event or a line returned this error.
    Event(E),
    /// A line, or the joined data of one event, is longer than the parser's limit.
    TooLong {
        /// The parser's limit in bytes.
        limit: usize,
    },
}

impl<E: fmt::Display> fmt::Display for FeedError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Event(error) => error.fmt(f),
            Self::TooLong { limit } => {
                write!(f, "an event or a line is longer than the limit of {limit} bytes")
            }
        }
    }
}

impl<E: Error> Error for FeedError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Event(error) => error.source(),
            Self::TooLong { .. } => None,
        }
    }
}

/// The parser's part of [`FeedError`], before the caller's error type is known.
#[derive(Debug)]
pub(crate) struct TooLong {
    pub(crate) limit: usize,
}

impl<E> From<TooLong> for FeedError<E> {
    fn from(error: TooLong) -> Self {
        Self::TooLong { limit: error.limit }
    }
}

pub(crate) fn check_length(length: usize, limit: usize) -> Result<(), TooLong> {
    if length > limit { Err(TooLong { limit }) } else { Ok(()) }
}
