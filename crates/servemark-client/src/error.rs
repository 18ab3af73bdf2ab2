//! The crate's error. It is opaque, because its sources may change; callers distinguish errors by
//! kind.

use std::error::Error;

use servemark_core::{ErrorKind, RequestError, with_causes};
use servemark_target::BaseUrlError;
use thiserror::Error;

/// Why a call to a server failed, or why a target is not usable.
///
/// It names the address, never a credential.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct ClientError {
    kind: ClientErrorKind,
    message: String,
    is_permanent: bool,
    #[source]
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The kinds of [`ClientError`].
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ClientErrorKind {
    /// The machine does not have enough resources for the requested connections.
    Capacity,
    /// The target, its credentials or its certificates are not usable.
    Configuration,
    /// There was no connection, or it was lost before the answer began.
    Connect,
    /// The server's answer is not HTTP, or not what was asked for.
    Decode,
    /// The server did not process the request.
    NotProcessed,
    /// The server answered with this status.
    Status(u16),
    /// A time-out expired.
    Timeout,
    /// The TLS handshake failed.
    Tls,
    /// The connection was lost in the middle of the answer.
    Truncated,
}

impl ClientError {
    pub(crate) fn new(kind: ClientErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), is_permanent: false, source: None }
    }

    pub(crate) fn caused_by(self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// Marks the failure as permanent, so that another try would fail too, if `is_permanent` is
    /// true.
    pub(crate) fn permanent_if(self, is_permanent: bool) -> Self {
        Self { is_permanent, ..self }
    }

    /// Returns whether waiting cannot help: the name has no address, the certificate or the key is
    /// refused, the scheme is wrong, or the target is not usable.
    pub fn is_permanent(&self) -> bool {
        let by_kind = matches!(
            self.kind,
            ClientErrorKind::Configuration | ClientErrorKind::Status(401 | 403)
        );
        self.is_permanent || by_kind
    }

    /// Returns the kind of failure.
    pub fn kind(&self) -> ClientErrorKind {
        self.kind
    }

    /// Returns the status that the server answered with, if that is the failure.
    pub fn status(&self) -> Option<u16> {
        match self.kind {
            ClientErrorKind::Status(status) => Some(status),
            _ => None,
        }
    }

    /// Returns whether the machine lacks descriptors or ports.
    pub fn is_capacity(&self) -> bool {
        self.kind == ClientErrorKind::Capacity
    }

    /// Returns the message followed by those of all causes.
    pub fn with_causes(&self) -> String {
        with_causes(self)
    }

    /// Returns whether there was no connection, or it was lost before the answer began.
    pub fn is_connect(&self) -> bool {
        self.kind == ClientErrorKind::Connect
    }

    /// Returns whether the server answered with an unexpected status.
    pub fn is_status(&self) -> bool {
        self.status().is_some()
    }

    /// Returns whether a time-out expired.
    pub fn is_timeout(&self) -> bool {
        self.kind == ClientErrorKind::Timeout
    }

    /// Returns whether the TLS handshake failed.
    pub fn is_tls(&self) -> bool {
        self.kind == ClientErrorKind::Tls
    }
}

impl From<BaseUrlError> for ClientError {
    fn from(error: BaseUrlError) -> Self {
        let message = error.to_string();
        let new = Self::new(ClientErrorKind::Configuration, message);
        match error.source() {
            Some(source) => new.caused_by(source.to_string()),
            None => new,
        }
    }
}

/// Writes the chain of causes into the message, because a record keeps one line.
impl From<ClientError> for RequestError {
    fn from(error: ClientError) -> Self {
        let mut request = Self::new(request_kind(error.kind), error.with_causes());
        request.is_permanent = error.is_permanent();
        request
    }
}

fn request_kind(kind: ClientErrorKind) -> ErrorKind {
    match kind {
        ClientErrorKind::Capacity | ClientErrorKind::Connect => ErrorKind::Connect,
        ClientErrorKind::Configuration => ErrorKind::Encode,
        ClientErrorKind::Decode => ErrorKind::Decode,
        ClientErrorKind::NotProcessed => ErrorKind::NotProcessed,
        ClientErrorKind::Status(_) => ErrorKind::Status,
        ClientErrorKind::Timeout => ErrorKind::Timeout,
        ClientErrorKind::Tls => ErrorKind::Tls,
        ClientErrorKind::Truncated => ErrorKind::Truncated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_keeps_the_causes_too() {
        let error = ClientError::new(ClientErrorKind::Connect, "cannot connect to there:1")
            .caused_by(std::io::Error::other("no route"));
        assert_eq!(error.to_string(), "cannot connect to there:1");
        let request = RequestError::from(error);
        assert_eq!(request.kind, ErrorKind::Connect);
        assert_eq!(request.message, "cannot connect to there:1: no route");
    }

    #[test]
    fn a_status_is_told_with_its_number() {
        let error = ClientError::new(ClientErrorKind::Status(503), "busy");
        assert_eq!(
            (error.status(), error.is_status(), error.is_timeout()),
            (Some(503), true, false)
        );
    }
}
