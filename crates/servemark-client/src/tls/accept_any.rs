//! Accepts any certificate, for servers with self-signed ones.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

/// Accepts every certificate and every signature made with its key.
///
/// A signature proves that the server has the key of its certificate. If any certificate is
/// accepted, this proves nothing, and some signatures cannot be verified: those of version 1
/// certificates, short RSA keys and the curve P-521.
#[derive(Debug)]
pub(super) struct AcceptAnyCert {
    schemes: Vec<SignatureScheme>,
}

impl AcceptAnyCert {
    pub(super) fn new(provider: &Arc<CryptoProvider>) -> Self {
        let mut schemes = provider.signature_verification_algorithms.supported_schemes();
        schemes.extend(UNVERIFIED);
        Self { schemes }
    }
}

impl ServerCertVerifier for AcceptAnyCert {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}

/// Signature schemes of servers that the provider cannot verify.
const UNVERIFIED: [SignatureScheme; 3] = [
    SignatureScheme::ECDSA_NISTP521_SHA512,
    SignatureScheme::ED448,
    SignatureScheme::RSA_PKCS1_SHA1,
];
