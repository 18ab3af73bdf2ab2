//! Advice for a failed TLS handshake.

use rustls::{AlertDescription, CertificateError, Error};

use super::own::{UnverifiedHandshake, VersionOne};

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
            Error::AlertReceived(alert) => of_alert(*alert),
            Error::PeerIncompatible(_) => (INCOMPATIBLE.to_owned(), true),
            _ => (String::new(), false),
        };
        Self { cure, is_permanent }
    }
}

fn of_certificate(error: &CertificateError, host: &str) -> String {
    match error {
        CertificateError::UnknownIssuer => {
            "; its certificate is signed by an authority that is not trusted here: give that, or the \
             certificate itself, by `server.at.ca_file`, \
             or check nothing by `server.at.trusts_anybody`"
                .to_owned()
        }
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            format!(
                "; its certificate has no subjectAltName, so it is for no host: make one with openssl \
                 req -x509 … -addext subjectAltName=DNS:{host} (IP:ADDRESS for an address), or give \
                 the certificate itself by `server.at.ca_file`, \
             or check nothing by `server.at.trusts_anybody`"
            )
        }
        CertificateError::NotValidForNameContext { presented, .. } => format!(
            "; its certificate is not for {host} but for {}: ask for one of these, or check nothing \
             by `server.at.trusts_anybody`",
            presented.iter().map(|name| bare(name)).collect::<Vec<_>>().join(", ")
        ),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "; its certificate has expired: renew it, or check nothing by \
             `server.at.trusts_anybody`"
                .to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "; its certificate is not valid yet: check the clocks of both machines, or check \
             nothing by `server.at.trusts_anybody`"
                .to_owned()
        }
        CertificateError::Other(error) if error.0.is::<VersionOne>() => format!(
            "; its certificate is of X.509 version 1, which has no subjectAltName: make one with \
             openssl req -x509 … -addext subjectAltName=DNS:{host} (IP:ADDRESS for an address), give \
             openssl x509 -req the flag -extfile, or check nothing by `server.at.trusts_anybody`"
        ),
        CertificateError::BadSignature => {
            "; its issuer has the name of an authority that is trusted here, which has not signed it: \
             give that issuer, or the certificate itself, by `server.at.ca_file`, or check nothing \
             by `server.at.trusts_anybody`"
                .to_owned()
        }
        CertificateError::Other(error) if error.0.is::<UnverifiedHandshake>() => {
            "; its certificate's key is too weak or of an unknown kind: use RSA of 2048 bits or \
             more, ECDSA with P-256 or P-384, or Ed25519, or check nothing by \
             `server.at.trusts_anybody`"
                .to_owned()
        }
        _ => "; trust exactly this certificate by `server.at.ca_file`, \
             or check nothing by `server.at.trusts_anybody`"
            .to_owned(),
    }
}

/// Returns the host of a name that `webpki` shows as `DnsName("gpu.example")` or
/// `IpAddress(10.0.0.7)`.
fn bare(name: &str) -> &str {
    let host = name.split_once('(').and_then(|(_, host)| host.strip_suffix(')'));
    host.unwrap_or(name).trim_matches('"')
}

/// Returns the advice for an alert from the server, and whether the failure is permanent.
fn of_alert(alert: AlertDescription) -> (String, bool) {
    let cure = match alert {
        AlertDescription::HandshakeFailure
        | AlertDescription::InsufficientSecurity
        | AlertDescription::ProtocolVersion => INCOMPATIBLE,
        AlertDescription::NoApplicationProtocol => {
            "; it does not offer the asked version of HTTP: change `server.at.http_version`"
        }
        AlertDescription::CertificateRequired
        | AlertDescription::BadCertificate
        | AlertDescription::UnknownCA
        | AlertDescription::AccessDenied => NO_CLIENT_CERTIFICATE,
        AlertDescription::UnrecognisedName => "; it has no host of this name",
        _ => return (String::new(), false),
    };
    (cure.to_owned(), true)
}

/// The advice if the server's answer was not TLS.
const PLAIN: &str = "; its answer is not TLS: is this port for http://?";

const INCOMPATIBLE: &str = "; TLS 1.2 or 1.3 is needed, and a certificate with a key of RSA (2048 bits or \
                            more), ECDSA (P-256 or P-384) or Ed25519; a server that wants a \
                            certificate of the client cannot be asked";

const NO_CLIENT_CERTIFICATE: &str = "; it wants a certificate of the client, which cannot be given: \
                                     let it accept clients without one";
