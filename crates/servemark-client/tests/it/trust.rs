//! Which certificates are trusted, the error if one is not, and which failures are permanent.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use servemark_client::{ClientError, Credentials, ServerControl, Target, TargetSpec};
use servemark_core::{ErrorKind, MonotonicClock, RequestRecord};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::encrypted::serve_tls;
use crate::support::{RawServer, ask, document, error, transport};

/// A server with a self-signed certificate, and a PEM file of that certificate.
struct SelfSigned {
    address: SocketAddr,
    file: PathBuf,
}

impl SelfSigned {
    /// Creates a certificate as `openssl req -x509` does: an authority with `hosts` as
    /// subjectAltName.
    async fn start(name: &str, hosts: &[&str]) -> Self {
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name.push(DnType::CommonName, "localhost");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("own-{name}.pem"));
        std::fs::write(&file, certificate.pem()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                rustls::pki_types::PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            )
            .unwrap();
        let address = serve_tls(config).await;
        Self { address, file }
    }

    fn spec(&self) -> TargetSpec {
        let mut spec = spec("https", self.address);
        spec.ca_file = Some(self.file.clone());
        spec
    }
}

fn spec(scheme: &str, address: SocketAddr) -> TargetSpec {
    TargetSpec::new(format!("{scheme}://{address}").parse().unwrap())
}

#[tokio::test]
async fn a_servers_own_certificate_is_trusted_where_the_ca_file_holds_it() {
    for (name, hosts) in [("named", &["127.0.0.1"][..]), ("nameless", &[])] {
        let server = SelfSigned::start(name, hosts).await;
        let record = ask(&transport(&server.spec())).await;
        assert_eq!(record.text, "HTTP/1.1", "{name}: {record:?}");
    }
}

#[track_caller]
fn objects(record: &RequestRecord, cures: &[&str]) {
    let (kind, message) = error(record);
    assert_eq!(kind, ErrorKind::Tls, "{message}");
    assert!(record.outcome.as_ref().unwrap_err().is_permanent, "{message}");
    for cure in cures {
        assert!(message.contains(cure), "{message}");
    }
}

#[tokio::test]
async fn the_name_in_an_own_certificate_still_counts() {
    let server = SelfSigned::start("elsewhere", &["elsewhere.example"]).await;
    objects(
        &ask(&transport(&server.spec())).await,
        &["not for 127.0.0.1 but for", "`server.at.trusts_anybody`"],
    );
}

#[tokio::test]
async fn another_certificate_than_that_of_the_ca_file_is_refused_and_the_cure_named() {
    let [server, other] =
        [SelfSigned::start("one", &["127.0.0.1"]).await, SelfSigned::start("other", &[]).await];
    let mut spec = server.spec();
    spec.ca_file = Some(other.file);
    objects(&ask(&transport(&spec)).await, &["`server.at.ca_file`", "`server.at.trusts_anybody`"]);
}

#[tokio::test]
async fn a_certificate_without_names_is_refused_unless_it_is_that_of_the_file() {
    let (authority, config) = crate::encrypted::nameless("no-names");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut spec = spec("https", listener.local_addr().unwrap());
    spec.ca_file = Some(authority);
    tokio::spawn(async move {
        let _ = acceptor.accept(listener.accept().await.unwrap().0).await;
    });
    let cures = ["has no subjectAltName", "-addext subjectAltName=", "`server.at.trusts_anybody`"];
    objects(&ask(&transport(&spec)).await, &cures);
}

#[tokio::test]
async fn the_wrong_scheme_is_named() {
    let server = RawServer::start(|mut peer| async move {
        let _ = tokio::io::AsyncReadExt::read(&mut peer.stream, &mut [0; 1024]).await;
        peer.send("HTTP/1.1 400 Bad Request\r\n\r\n").await;
    })
    .await;
    objects(
        &ask(&transport(&spec("https", server.address()))).await,
        &["is this port for http://?"],
    );

    let encrypted = SelfSigned::start("scheme", &["127.0.0.1"]).await;
    for stack in [servemark_client::Http1Stack::Direct, servemark_client::Http1Stack::Hyper] {
        let mut spec = spec("http", encrypted.address);
        spec.http1_stack = stack;
        objects(&ask(&transport(&spec)).await, &["answered in TLS; ask it by https://"]);
    }
}

/// Waits up to an hour for a server, and returns the error that ends the wait.
async fn wait(spec: &TargetSpec) -> ClientError {
    let target = Target::new(spec, Credentials::new()).unwrap();
    let control = ServerControl::new(target, MonotonicClock::start());
    control.wait_ready("/v1/models", Duration::from_secs(3600)).await.unwrap_err()
}

#[tokio::test]
async fn permanent_failures_end_the_wait_for_a_server_at_once() {
    for status in ["401 Unauthorized", "403 Forbidden"] {
        let server = RawServer::answering(document(status, "text/plain", "")).await;
        let error = wait(&server.spec()).await;
        assert!(error.is_permanent() && error.to_string().contains("OPENAI_API_KEY"), "{error}");
    }
    let server = SelfSigned::start("wait", &["127.0.0.1"]).await;
    assert!(wait(&spec("http", server.address)).await.is_tls());
    let mut elsewhere = server.spec();
    elsewhere.ca_file = Some(SelfSigned::start("wait-other", &[]).await.file);
    assert!(wait(&elsewhere).await.to_string().contains("`server.at.ca_file`"));
}

#[tokio::test]
async fn a_name_without_an_address_is_told_from_a_look_up_that_failed() {
    let spec = TargetSpec::new("http://no-such-host.invalid:1".parse().unwrap());
    let target = Target::new(&spec, Credentials::new()).unwrap();
    let control = ServerControl::new(target, MonotonicClock::start());
    let error = control.wait_ready("/", Duration::ZERO).await.unwrap_err();
    let whole = servemark_core::RequestError::from(error).message;
    assert!(whole.contains("cannot find the address of no-such-host.invalid"), "{whole}");
}

#[tokio::test]
async fn a_server_that_is_not_there_yet_is_waited_for() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let target = Target::new(&spec("http", free), Credentials::new()).unwrap();
    let control = ServerControl::new(target, MonotonicClock::start());
    let error = control.wait_ready("/", Duration::from_millis(20)).await.unwrap_err();
    assert!(error.is_timeout() && !error.is_permanent(), "{error}");
}
