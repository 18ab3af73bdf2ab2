//! TLS: trusted authorities and the offered HTTP version. Certificates are verified unless the spec
//! turns that off.

mod accept_any;
mod advice;
mod own;

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore, crypto};
use tokio_rustls::TlsConnector;

use self::accept_any::AcceptAnyCert;
pub(crate) use self::advice::TlsAdvice;
use self::own::OwnOrSigned;
use servemark_target::{HttpVersion, TargetSpec};

use crate::error::{ClientError, ClientErrorKind};

/// Creates a connector that trusts the machine's authorities and those of the spec's CA file.
pub(crate) fn connector(spec: &TargetSpec) -> Result<TlsConnector, ClientError> {
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| refuse("TLS cannot be set up").caused_by(error))?;
    let verifier: Arc<dyn ServerCertVerifier> = if spec.accepts_any_certificate {
        Arc::new(AcceptAnyCert::new(&provider))
    } else {
        Arc::new(own_or_signed(spec.ca_file.as_deref(), provider)?)
    };
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![protocol(spec.http_version).to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Returns the name of a protocol in the ALPN handshake.
pub(crate) fn protocol(version: HttpVersion) -> &'static [u8] {
    match version {
        HttpVersion::Http1 => b"http/1.1",
        HttpVersion::Http2 => b"h2",
    }
}

fn own_or_signed(
    ca_file: Option<&Path>,
    provider: Arc<CryptoProvider>,
) -> Result<OwnOrSigned, ClientError> {
    let given = ca_file.map(certificates).transpose()?.unwrap_or_default();
    let roots = Arc::new(roots(ca_file.zip(Some(given.as_slice())))?);
    let signed = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
    let signed = signed.map_err(|error| refuse("TLS cannot be set up").caused_by(error))?;
    Ok(OwnOrSigned::new(signed, given))
}

/// Returns the machine's authorities and those of a file.
fn roots(given: Option<(&Path, &[CertificateDer<'static>])>) -> Result<RootCertStore, ClientError> {
    let mut roots = RootCertStore::empty();
    // Some machines have authorities that no longer parse; the others still count.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some((path, certificates)) = given {
        for certificate in certificates {
            let added = roots.add(certificate.clone());
            added.map_err(|error| bad_file(path, "is not usable").caused_by(error))?;
        }
    }
    if roots.is_empty() {
        return Err(refuse(
            "this machine trusts no authority; install ca-certificates or name a CA file",
        ));
    }
    Ok(roots)
}

/// Returns all certificates of a PEM file; an error if there are none.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let certificates = CertificateDer::pem_file_iter(path)
        .map_err(|error| bad_file(path, "cannot be read").caused_by(error))?;
    let certificates: Result<Vec<_>, _> = certificates.collect();
    let certificates =
        certificates.map_err(|error| bad_file(path, "is not PEM").caused_by(error))?;
    if certificates.is_empty() {
        return Err(bad_file(path, "holds no certificate"));
    }
    Ok(certificates)
}

fn bad_file(path: &Path, what: &str) -> ClientError {
    refuse(&format!("the CA file {} {what}", path.display()))
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
