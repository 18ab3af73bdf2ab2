//! TLS, against hyper's own server and an authority created by the test.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use servemark_client::{HttpVersion, TargetSpec};
use servemark_core::{ArrivalClock, Connection, ErrorKind};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::support::{RawServer, ask, error, transport};

#[tokio::test]
async fn an_authority_from_a_file_is_trusted() {
    let server = Server::encrypted("trusted", b"http/1.1").await;
    let transport = transport(&server.spec(HttpVersion::Http1));
    let record = ask(&transport).await;
    assert_eq!(record.text, "HTTP/1.1", "{record:?}");
    let Some(Connection::New { connect_ns: 1.., tls_ns: Some(1..) }) = record.connection else {
        panic!("{:?}", record.connection);
    };
    assert_eq!(ask(&transport).await.connection, Some(Connection::Reused));
}

#[tokio::test]
async fn an_unknown_authority_is_refused() {
    let server = Server::encrypted("unknown", b"http/1.1").await;
    let mut spec = server.spec(HttpVersion::Http1);
    spec.ca_file = Some(authority_file("another").0);
    let record = ask(&transport(&spec)).await;
    let (kind, message) = error(&record);
    assert_eq!(kind, ErrorKind::Tls, "{message}");
    assert!(message.starts_with("no TLS handshake with https://127.0.0.1:"), "{message}");
    assert!(message.contains("UnknownIssuer"), "{message}");
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_told_from_one_that_hangs_up() {
    for (answer, kind) in [("HTTP/1.0 400 Bad\r\n\r\n", ErrorKind::Tls), ("", ErrorKind::Connect)] {
        let server = RawServer::start(move |mut peer| async move {
            let _ = peer.stream.read(&mut [0; 1024]).await;
            peer.send(answer).await;
        })
        .await;
        let url = format!("https://{}", server.address());
        let mut spec = TargetSpec::new(url.parse().unwrap());
        spec.ca_file = Some(authority_file("no-tls").0);
        assert_eq!(error(&ask(&transport(&spec)).await).0, kind);
    }
}

#[tokio::test]
async fn an_unknown_authority_is_accepted_without_a_check() {
    let server = Server::encrypted("unchecked", b"http/1.1").await;
    assert_eq!(ask_unchecked(&server, HttpVersion::Http1).await, "HTTP/1.1");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_kernels_stamps_come_through_tls() {
    let server = Server::encrypted("stamped", b"http/1.1").await;
    let clock = stamped_by(&server, HttpVersion::Http1).await;
    assert_eq!(clock, ArrivalClock::Kernel);
}

/// Asks a server whose authority is unknown without a check, and returns the text of the answer.
pub(crate) async fn ask_unchecked(server: &Server, version: HttpVersion) -> String {
    let mut spec = server.spec(version);
    spec.ca_file = None;
    spec.accepts_any_certificate = true;
    ask(&transport(&spec)).await.text
}

/// Asks until an answer has the kernel's stamps, which the first answers may be without, and returns
/// the clock of the answer after it.
#[cfg(target_os = "linux")]
pub(crate) async fn stamped_by(server: &Server, version: HttpVersion) -> ArrivalClock {
    let transport = transport(&server.spec(version));
    while ask(&transport).await.arrival_clock == ArrivalClock::User {}
    ask(&transport).await.arrival_clock
}

/// Creates a new authority in a file, and the configuration of a server that it signs.
pub(crate) fn authority_file(name: &str) -> (PathBuf, ServerConfig) {
    vouching(name, vec!["127.0.0.1".to_owned()])
}

/// Creates an authority and a server whose certificate has no subjectAltName.
pub(crate) fn nameless(name: &str) -> (PathBuf, ServerConfig) {
    vouching(name, Vec::new())
}

fn vouching(name: &str, hosts: Vec<String>) -> (PathBuf, ServerConfig) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pem"));
    std::fs::write(&file, authority.pem()).unwrap();

    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(hosts).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    (file, config)
}

/// Answers every request with a stream of one event: the HTTP version of the request.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) authority: Option<PathBuf>,
}

impl Server {
    pub(crate) async fn encrypted(name: &str, protocol: &'static [u8]) -> Self {
        let (authority, mut config) = authority_file(name);
        config.alpn_protocols =
            [protocol].into_iter().filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect();
        let address = serve_tls_as(protocol, config).await;
        Self { address, authority: Some(authority) }
    }

    pub(crate) fn spec(&self, version: HttpVersion) -> TargetSpec {
        let scheme = if self.authority.is_some() { "https" } else { "http" };
        let mut spec = TargetSpec::new(format!("{scheme}://{}", self.address).parse().unwrap());
        spec.http_version = version;
        spec.ca_file.clone_from(&self.authority);
        spec
    }
}

/// Starts a server of HTTP/1 over TLS. Clients that do not trust it are no error of the test.
pub(crate) async fn serve_tls(config: ServerConfig) -> SocketAddr {
    serve_tls_as(b"http/1.1", config).await
}

async fn serve_tls_as(protocol: &'static [u8], config: ServerConfig) -> SocketAddr {
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            match protocol {
                b"h2" => drop(tokio::spawn(serve_http2(stream))),
                _ => drop(tokio::spawn(serve_http1(stream))),
            }
        }
    });
    address
}

pub(crate) async fn serve_http1(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    let connection =
        http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(version));
    // A client may close the connection at any time.
    let _ = connection.await;
}

pub(crate) async fn serve_http2(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    let connection = http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), service_fn(version));
    let _ = connection.await;
}

pub(crate) async fn version(
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    assert!(request.version() == Version::HTTP_2 || request.headers().contains_key("host"));
    let body = format!("data: {:?}\n\ndata: [DONE]\n\n", request.version());
    let mut response = Response::new(Full::new(body.into()));
    response.headers_mut().insert("content-type", "text/event-stream".parse().unwrap());
    Ok(response)
}
