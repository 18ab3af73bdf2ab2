//! Advice for a failed TLS handshake.

use rustls::{CertificateError, Error};

/// The advice for an error of rustls.
#[derive(Debug)]
pub(crate) struct TlsAdvice {
    /// Text appended to the error message; empty if no remedy is known.
    pub(crate) cure: String,
    /// Whether another try would end the same way.
    pub(crate) is_permanent: bool,
}

impl TlsAdvice {
    /// Returns the advice for `error` in a handshake with `host`.
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
            "; its certificate is not valid yet: check the clocks of both machines, or check nothing by --insecure"
                .to_owned()
        }
        _ => "; trust exactly this certificate by --ca-file FILE, or check nothing by --insecure"
            .to_owned(),
    }
}

/// The advice if the server's answer was not TLS.
const PLAIN: &str = "; its answer is not TLS: is this port for http://?";
