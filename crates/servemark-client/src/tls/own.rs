//! Trusts a server's own certificate if the CA file contains it.
//!
//! `openssl req -x509` creates a certificate that claims to be an authority. As a server's own
//! certificate `webpki` refuses it (`CaUsedAsEndEntity`), although the user has named it as
//! trusted.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};
use thiserror::Error;

/// Verifies as `webpki` does, except that certificates that are byte for byte in the CA file are
/// trusted as they are.
#[derive(Debug)]
pub(super) struct OwnOrSigned {
    signed: Arc<WebPkiServerVerifier>,
    own: Vec<CertificateDer<'static>>,
}

impl OwnOrSigned {
    pub(super) fn new(
        signed: Arc<WebPkiServerVerifier>,
        own: Vec<CertificateDer<'static>>,
    ) -> Self {
        Self { signed, own }
    }
}

impl ServerCertVerifier for OwnOrSigned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        refuse_version_one(end_entity)?;
        if self.own.iter().any(|own| own == end_entity) {
            check_name(end_entity, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        self.signed.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls12_signature(message, certificate, signature).map_err(of_handshake)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls13_signature(message, certificate, signature).map_err(of_handshake)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}

/// The certificate is of X.509 version 1, which `webpki` neither verifies nor finds a key in.
/// `openssl x509 -req` makes such certificates unless it is given extensions.
#[derive(Debug, Error)]
#[error("the certificate is of version 1")]
pub(super) struct VersionOne;

fn refuse_version_one(certificate: &CertificateDer<'_>) -> Result<(), Error> {
    // Certificate and its first member, TBSCertificate, are sequences. The latter begins with the
    // version, unless it is 1 (RFC 5280, 4.1).
    let first = content(certificate).and_then(content).and_then(<[u8]>::first);
    match first {
        None | Some(&VERSION) => Ok(()),
        Some(_) => Err(Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(
            VersionOne,
        ))))),
    }
}

/// The server's signature of the handshake cannot be verified with the key of its certificate.
#[derive(Debug, Error)]
#[error("the signature of the handshake cannot be verified")]
pub(super) struct UnverifiedHandshake;

/// Distinguishes the signature of a handshake from that of a certificate.
fn of_handshake(error: Error) -> Error {
    match error {
        Error::InvalidCertificate(CertificateError::BadSignature) => Error::InvalidCertificate(
            CertificateError::Other(OtherError(Arc::new(UnverifiedHandshake))),
        ),
        error => error,
    }
}

/// Returns what follows the tag and the length of a DER value.
fn content(der: &[u8]) -> Option<&[u8]> {
    let length = *der.get(1)?;
    let of_length = if length < 0x80 { 0 } else { usize::from(length - 0x80) };
    der.get(2 + of_length..)
}

/// The tag of the version, `[0] EXPLICIT`.
const VERSION: u8 = 0xa0;

/// Checks that a certificate is valid for the host, if it names any: a certificate without
/// subjectAltName names no host, and is accepted because it is in the CA file.
fn check_name(certificate: &CertificateDer<'_>, host: &ServerName<'_>) -> Result<(), Error> {
    match verify_server_name(&ParsedCertificate::try_from(certificate)?, host) {
        Err(Error::InvalidCertificate(CertificateError::NotValidForNameContext {
            presented,
            ..
        })) if presented.is_empty() => Ok(()),
        checked => checked,
    }
}
