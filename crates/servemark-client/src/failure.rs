//! Classifies missing and truncated answers; never by an error's text.

use std::error::Error;
use std::io;

use servemark_core::Unprocessed;
use servemark_http1::Malformed;
use servemark_target::BaseUrl;

use crate::error::{ClientError, ClientErrorKind};
use crate::http2::refusal;
use crate::tls::TlsAdvice;

/// Why there is no answer, or no more of it.
#[derive(Debug)]
pub(crate) enum ConnectionLoss {
    /// The received bytes are not HTTP.
    Malformed(Cause),
    /// The other side closed the connection in order.
    Closed(Cause),
    /// The connection broke.
    Broken(Cause),
    /// The server reports that it did not process the request.
    Refused(Unprocessed, Cause),
}

type Cause = Box<dyn Error + Send + Sync>;

impl ConnectionLoss {
    /// Creates the failure of a connection that the other side closed in order.
    pub(crate) fn closed() -> Self {
        Self::Closed("the stream ended".into())
    }

    /// Returns why the server cannot have processed the request that ended with this failure: it
    /// says so, or it closed or reset a `reused` connection that carried no other request.
    pub(crate) fn unprocessed(&self, reused: bool) -> Option<Unprocessed> {
        match self {
            Self::Refused(reason, _) => Some(*reason),
            Self::Closed(_) if reused => Some(Unprocessed::Closed),
            Self::Broken(cause) if reused && is_by_server(&**cause) => Some(Unprocessed::Closed),
            Self::Closed(_) | Self::Broken(_) | Self::Malformed(_) => None,
        }
    }

    /// Returns the error of a request that was not processed for `reason` and is not sent again.
    pub(crate) fn unprocessed_error(
        cause: Option<Self>,
        reason: Unprocessed,
        base: &BaseUrl,
    ) -> ClientError {
        let message = match reason {
            Unprocessed::Closed => format!(
                "{base} closed the reused connection before an answer, as servers do with idle \
                 connections; set `server.at.reuse.resend` to send such a request once more, or clear \
                 `server.at.reuse.keep_alive` to open a connection for each"
            ),
            Unprocessed::RequestTimeout => format!(
                "{base} answered 408 on the reused connection, which it had waited on for too long; \
                 set `server.at.reuse.resend` to send such a request once more, or clear \
                 `server.at.reuse.keep_alive` to open a connection for each"
            ),
            Unprocessed::RefusedStream => {
                format!(
                    "{base} refused the HTTP/2 stream (REFUSED_STREAM) and processed nothing of it"
                )
            }
            _ => format!(
                "{base} closed the shared HTTP/2 connection (GOAWAY) before it processed the request"
            ),
        };
        let error = ClientError::new(ClientErrorKind::NotProcessed, message);
        match cause {
            Some(Self::Malformed(c) | Self::Closed(c) | Self::Broken(c) | Self::Refused(_, c)) => {
                error.caused_by(c)
            }
            None => error,
        }
    }

    /// Returns the error of a request without TLS whose answer began as TLS does.
    pub(crate) fn in_tls(self, base: &BaseUrl) -> ClientError {
        let (Self::Malformed(cause)
        | Self::Closed(cause)
        | Self::Broken(cause)
        | Self::Refused(_, cause)) = self;
        let message = format!("{base} answered in TLS; ask it by https:// instead");
        ClientError::new(ClientErrorKind::Tls, message).caused_by(cause).permanent_if(true)
    }

    /// Returns the error of a request without an answer.
    pub(crate) fn before_head(self, base: &BaseUrl) -> ClientError {
        if let Some(advice) = self.tls_advice(base) {
            let (Self::Malformed(cause)
            | Self::Closed(cause)
            | Self::Broken(cause)
            | Self::Refused(_, cause)) = self;
            let message = format!("{base} ended the TLS connection{}", advice.cure);
            return ClientError::new(ClientErrorKind::Tls, message)
                .caused_by(cause)
                .permanent_if(advice.is_permanent);
        }
        let (kind, message, cause) = match self {
            Self::Malformed(cause) => {
                (ClientErrorKind::Decode, format!("the answer of {base} is not HTTP"), cause)
            }
            Self::Closed(cause) => {
                let message = format!("{base} closed the connection without an answer");
                (ClientErrorKind::Connect, message, cause)
            }
            Self::Broken(cause) => {
                let message = if io_kind_of(&*cause) == Some(io::ErrorKind::ConnectionReset) {
                    format!("{base} reset the connection before the answer")
                } else {
                    format!("the connection to {base} was lost before the answer")
                };
                (ClientErrorKind::Connect, message, cause)
            }
            Self::Refused(reason, cause) => {
                return Self::unprocessed_error(Some(Self::Refused(reason, cause)), reason, base);
            }
        };
        ClientError::new(kind, message).caused_by(cause)
    }

    /// Returns the advice for an error of TLS, such as the server's refusal of a client without a
    /// certificate, which TLS 1.3 reports after the handshake.
    fn tls_advice(&self, base: &BaseUrl) -> Option<TlsAdvice> {
        let (Self::Malformed(cause) | Self::Broken(cause)) = self else { return None };
        let first: &(dyn Error + 'static) = &**cause;
        let mut all = std::iter::successors(Some(first), |&error| error.source());
        let tls =
            all.find_map(|error| error.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref());
        tls.map(|error: &rustls::Error| TlsAdvice::of(error, base.host()))
    }

    /// Returns the error of an answer that broke off, or whose framing is invalid.
    pub(crate) fn in_body(self) -> ClientError {
        let (kind, message, cause) = match self {
            Self::Malformed(cause) => {
                (ClientErrorKind::Decode, "the framing of the answer is not HTTP", cause)
            }
            Self::Closed(cause) | Self::Broken(cause) | Self::Refused(_, cause) => {
                let message = "the connection was lost in the middle of the answer";
                (ClientErrorKind::Truncated, message, cause)
            }
        };
        ClientError::new(kind, message).caused_by(cause)
    }
}

impl From<Malformed> for ConnectionLoss {
    fn from(error: Malformed) -> Self {
        Self::Malformed(error.into())
    }
}

impl From<io::Error> for ConnectionLoss {
    fn from(error: io::Error) -> Self {
        Self::Broken(error.into())
    }
}

/// Classifies by hyper's predicates and by the kind of the I/O error within.
impl From<hyper::Error> for ConnectionLoss {
    fn from(error: hyper::Error) -> Self {
        let malformed = matches!(
            io_kind(&error),
            Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
        );
        if let Some(reason) = refusal(&error) {
            Self::Refused(reason, error.into())
        } else if malformed || error.is_parse() {
            Self::Malformed(error.into())
        } else if error.is_incomplete_message() {
            Self::Closed(error.into())
        } else {
            Self::Broken(error.into())
        }
    }
}

/// Returns whether a connection broke because the server closed or reset it.
fn is_by_server(cause: &(dyn Error + Send + Sync + 'static)) -> bool {
    matches!(
        io_kind_of(cause),
        Some(
            io::ErrorKind::BrokenPipe
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::NotConnected
                | io::ErrorKind::UnexpectedEof
        )
    )
}

/// Returns the kind of the first I/O error in a chain of causes.
fn io_kind_of(cause: &(dyn Error + Send + Sync + 'static)) -> Option<io::ErrorKind> {
    let first: &(dyn Error + 'static) = cause;
    let mut all = std::iter::successors(Some(first), |&error| error.source());
    all.find_map(|error| error.downcast_ref::<io::Error>()).map(io::Error::kind)
}

fn io_kind(error: &hyper::Error) -> Option<io::ErrorKind> {
    causes(error).find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind)
}

/// Returns the chain of causes of an error, without the error itself.
pub(crate) fn causes(error: &hyper::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |&error| error.source())
}
