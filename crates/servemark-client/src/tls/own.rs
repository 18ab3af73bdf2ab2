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
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

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
        self.signed.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}

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
