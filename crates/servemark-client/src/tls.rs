//! TLS: whom to trust and which HTTP to offer. Certificates are verified unless the spec says that
//! anybody is to be trusted.

mod anybody;

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore, crypto};
use tokio_rustls::TlsConnector;

use self::anybody::Anybody;
use crate::error::{ClientError, ClientErrorKind};
use crate::target::{HttpVersion, TargetSpec};

/// A connector that trusts the machine's authorities and the spec's own.
pub(crate) fn connector(spec: &TargetSpec) -> Result<TlsConnector, ClientError> {
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| refuse("TLS cannot be set up").caused_by(error))?;
    let builder = if spec.trusts_anybody {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody::new(provider)))
    } else {
        builder.with_root_certificates(roots(spec.ca_file.as_deref())?)
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![protocol(spec.http_version).to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The name of a protocol in the handshake.
pub(crate) fn protocol(version: HttpVersion) -> &'static [u8] {
    match version {
        HttpVersion::Http1 => b"http/1.1",
        HttpVersion::Http2 => b"h2",
    }
}

fn roots(ca_file: Option<&Path>) -> Result<RootCertStore, ClientError> {
    let mut roots = RootCertStore::empty();
    // Some machines carry authorities that no longer parse; the others still count.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = ca_file {
        add_file(&mut roots, path)?;
    }
    if roots.is_empty() {
        return Err(refuse(
            "this machine trusts no authority; install ca-certificates or name a CA file",
        ));
    }
    Ok(roots)
}

fn add_file(roots: &mut RootCertStore, path: &Path) -> Result<(), ClientError> {
    let bad = |what: &str| refuse(&format!("the CA file {} {what}", path.display()));
    let before = roots.len();
    let certificates = CertificateDer::pem_file_iter(path)
        .map_err(|error| bad("cannot be read").caused_by(error))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| bad("is not PEM").caused_by(error))?;
        roots.add(certificate).map_err(|error| bad("is not usable").caused_by(error))?;
    }
    if roots.len() == before { Err(bad("holds no certificate")) } else { Ok(()) }
}

fn refuse(why: &str) -> ClientError {
    ClientError::new(ClientErrorKind::Configuration, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(path: &str, why: &str) {
        let mut spec = TargetSpec::new("https://localhost".parse().unwrap());
        spec.ca_file = Some(path.into());
        let error = connector(&spec).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), format!("the CA file {path} {why}"));
    }

    #[test]
    fn a_ca_file_must_be_one() {
        refused("/no/such/file.pem", "cannot be read");
        refused(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), "holds no certificate");
    }
}
