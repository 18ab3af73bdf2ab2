//! Certificates that the `openssl` program made (`fixtures/tls`), and its own server where it is
//! installed.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring::{default_provider, sign::any_supported_type};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use servemark_client::{ClientError, Credentials, ServerControl, Target, TargetSpec};
use servemark_core::{ErrorKind, MonotonicClock, RequestRecord};

use crate::encrypted::serve_tls;
use crate::support::{ask, error, transport};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/tls").join(name)
}

/// Starts a server with a certificate of `fixtures/tls` and its key.
async fn server(name: &str) -> SocketAddr {
    let certificate = CertificateDer::from_pem_file(fixture(&format!("{name}.pem"))).unwrap();
    let key = PrivateKeyDer::from_pem_file(fixture(&format!("{name}.key"))).unwrap();
    // rustls refuses to serve a certificate of version 1 unless it comes from a resolver.
    let key = CertifiedKey::new(vec![certificate], any_supported_type(&key).unwrap());
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
    serve_tls(config).await
}

/// Which certificates a client trusts.
#[derive(Clone, Copy)]
enum Trust<'a> {
    Any,
    File(&'a str),
    Machine,
}

fn spec(url: &str, trust: Trust<'_>) -> TargetSpec {
    let mut spec = TargetSpec::new(url.parse().unwrap());
    match trust {
        Trust::Any => spec.accepts_any_certificate = true,
        Trust::File(name) => spec.ca_file = Some(fixture(name)),
        Trust::Machine => {}
    }
    spec
}

async fn send_request(name: &str, trust: Trust<'_>) -> RequestRecord {
    let address = server(name).await;
    ask(&transport(&spec(&format!("https://{address}"), trust))).await
}

#[track_caller]
fn objects(name: &str, record: &RequestRecord, cures: &[&str]) {
    let (kind, message) = error(record);
    assert_eq!(kind, ErrorKind::Tls, "{name}: {message}");
    assert!(record.outcome.as_ref().unwrap_err().is_permanent, "{name}: {message}");
    for cure in cures {
        assert!(message.contains(cure), "{name}: {cure:?} is not in {message}");
    }
}

const OWN: [&str; 5] = ["plain", "named", "leaf", "p256", "ed25519"];

#[tokio::test]
async fn an_own_certificate_is_trusted_by_its_file() {
    for name in OWN {
        let file = format!("{name}.pem");
        let record = send_request(name, Trust::File(&file)).await;
        assert_eq!(record.text, "HTTP/1.1", "{name}: {record:?}");
    }
    let signed = send_request("signed", Trust::File("authority.pem")).await;
    assert_eq!(signed.text, "HTTP/1.1", "{signed:?}");
}

#[tokio::test]
async fn every_certificate_is_accepted_where_none_is_checked() {
    for name in OWN.into_iter().chain(["elsewhere", "expired", "signed", "version_one"]) {
        let record = send_request(name, Trust::Any).await;
        assert_eq!(record.text, "HTTP/1.1", "{name}: {record:?}");
    }
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_names_its_cure() {
    for name in OWN {
        let record = send_request(name, Trust::Machine).await;
        objects(name, &record, &["`server.at.ca_file`", "`server.at.trusts_anybody`"]);
        objects(
            name,
            &send_request(name, Trust::File("authority.pem")).await,
            &["`server.at.ca_file`"],
        );
    }
    let record = send_request("elsewhere", Trust::File("elsewhere.pem")).await;
    objects("elsewhere", &record, &["not for 127.0.0.1 but for ", " 10.0.0.7", " gpu.example"]);
    let record = send_request("expired", Trust::File("authority.pem")).await;
    objects("expired", &record, &["has expired", "`server.at.trusts_anybody`"]);
    for file in ["version_one.pem", "authority.pem"] {
        let record = send_request("version_one", Trust::File(file)).await;
        objects(
            "version_one",
            &record,
            &["X.509 version 1", "-addext", "-extfile", "`server.at.trusts_anybody`"],
        );
        assert!(!error(&record).1.contains("--ca-file"), "{record:?}");
    }
}

/// `openssl s_server -www`, which ends with the test.
struct OpenSsl {
    child: Child,
    url: String,
}

impl OpenSsl {
    /// Starts the server with a certificate; `None` if the program is not installed.
    async fn start(certificate: &str, more: &[&str]) -> Option<Self> {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new("openssl");
        command.args(["s_server", "-www", "-quiet", "-accept", &format!("127.0.0.1:{port}")]);
        command.arg("-cert").arg(fixture(&format!("{certificate}.pem")));
        command.arg("-key").arg(fixture(&format!("{certificate}.key")));
        command.args(more).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().ok()?;
        let url = format!("https://127.0.0.1:{port}");
        let mut server = Self { child, url };
        while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            assert!(server.child.try_wait().unwrap().is_none(), "openssl s_server has ended");
            tokio::task::yield_now().await;
        }
        Some(server)
    }

    /// Waits up to an hour until the server is ready.
    async fn wait(&self, trust: Trust<'_>) -> Result<(), ClientError> {
        let target = Target::new(&spec(&self.url, trust), Credentials::new()).unwrap();
        let control = ServerControl::new(target, MonotonicClock::start());
        control.wait_ready("/", Duration::from_secs(3600)).await.map(drop)
    }
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn openssls_server_is_asked_with_its_own_certificate() {
    for version in ["-tls1_2", "-tls1_3"] {
        for certificate in ["plain", "named", "p256"] {
            let Some(server) = OpenSsl::start(certificate, &[version]).await else { return };
            server.wait(Trust::File(&format!("{certificate}.pem"))).await.unwrap();
            server.wait(Trust::Any).await.unwrap();
            let error = server.wait(Trust::Machine).await.unwrap_err();
            assert!(error.to_string().contains("`server.at.ca_file`"), "{error}");
        }
        let Some(server) = OpenSsl::start("version_one", &[version]).await else { return };
        server.wait(Trust::Any).await.unwrap();
        let error = server.wait(Trust::File("version_one.pem")).await.unwrap_err();
        assert!(error.to_string().contains("X.509 version 1"), "{error}");
    }
}

/// A TLS handshake can fail for several reasons, and none of them goes away by waiting.
#[tokio::test]
async fn a_server_that_refuses_the_handshake_ends_the_wait() {
    let cases = [
        (&["-tls1_2", "-Verify", "1", "-verify_return_error"][..], "a certificate of the client"),
        (&["-tls1_3", "-Verify", "1", "-verify_return_error"], "a certificate of the client"),
        (&["-tls1_2", "-cipher", "AES256-SHA"], "TLS 1.2 or 1.3 is needed"),
    ];
    for (flags, cure) in cases {
        let Some(server) = OpenSsl::start("named", flags).await else { return };
        let error = server.wait(Trust::File("named.pem")).await.unwrap_err();
        assert!(error.is_permanent() && error.is_tls(), "{flags:?}: {error}");
        assert!(error.to_string().contains(cure), "{flags:?}: {error}");
    }
}
