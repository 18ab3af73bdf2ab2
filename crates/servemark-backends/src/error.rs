//! Why a backend's name was refused. What fails on the wire is a [`RequestError`] instead.
//!
//! [`RequestError`]: servemark_core::RequestError

use thiserror::Error;

/// Why a text names no backend.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum BackendError {
    /// The peer names a backend that it has not implemented either.
    #[error(
        "the backend {name} is not implemented, by SGLang's client neither; use one of {known}"
    )]
    NotImplemented {
        /// The name as given.
        name: String,
        /// Every name that would do.
        known: String,
    },
    /// Nobody has a backend of that name.
    #[error("there is no backend {name:?}; use one of {known}")]
    Unknown {
        /// The name as given.
        name: String,
        /// Every name that would do.
        known: String,
    },
}
