//! What to do about a handshake that failed.

use rustls::{CertificateError, Error};

/// What rustls objects to, and what to do about it.
#[derive(Debug)]
pub(crate) struct Objection {
    /// Follows the error's sentence; empty where nothing is known to help.
    pub(crate) cure: String,
    /// Whether another try ends the same way.
    pub(crate) is_permanent: bool,
}

impl Objection {
    /// Of a handshake with `host`.
    pub(crate) fn of(error: &Error, host: &str) -> Self {
        let (cure, is_permanent) = match error {
            Error::InvalidCertificate(error) => (of_certificate(error, host), true),
            Error::InvalidMessage(_) => (PLAIN.to_owned(), true),
            _ => (String::new(), false),
        };
        Self { cure, is_permanent }
    }
}

fn of_certificate(error: &CertificateError, host: &str) -> String {
    match error {
        CertificateError::UnknownIssuer => {
            "; its certificate is signed by an authority that is not trusted here: give that, or the \
             certificate itself, by --ca-file FILE, or check nothing by --insecure"
                .to_owned()
        }
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            format!(
                "; its certificate has no subjectAltName, so it is for no host: make one with openssl \
                 req -x509 … -addext subjectAltName=DNS:{host} (IP:ADDRESS for an address), or give \
                 the certificate itself by --ca-file FILE, or check nothing by --insecure"
            )
        }
        CertificateError::NotValidForNameContext { presented, .. } => format!(
            "; its certificate is not for {host} but for {}: ask for one of these, or check nothing \
             by --insecure",
            presented.join(", ")
        ),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "; its certificate has expired: renew it, or check nothing by --insecure".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "; its certificate is not valid yet: look at both clocks, or check nothing by --insecure"
                .to_owned()
        }
        _ => "; trust exactly this certificate by --ca-file FILE, or check nothing by --insecure"
            .to_owned(),
    }
}

/// What came in place of a handshake.
const PLAIN: &str = "; what it answered is not TLS: does it speak http:// on this port?";
