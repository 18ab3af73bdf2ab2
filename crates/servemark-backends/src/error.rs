//! Errors of a backend's name. Errors of requests are [`RequestError`]s.
//!
//! [`RequestError`]: servemark_core::RequestError

use thiserror::Error;

/// Why a text is not a backend's name.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum BackendError {
    /// SGLang's client lists the backend but does not implement it either.
    #[error(
        "the backend {name} is not implemented, nor is it in SGLang's client; use one of {known}"
    )]
    NotImplemented {
        /// The name as given.
        name: String,
        /// All accepted names.
        known: String,
    },
    /// No backend has this name.
    #[error("there is no backend {name:?}; use one of {known}")]
    Unknown {
        /// The name as given.
        name: String,
        /// All accepted names.
        known: String,
    },
}
