//! HTTP/2, with TLS and without, against hyper's own server.

use servemark_client::HttpVersion;
use servemark_core::{Connection, ErrorKind};
use tokio::net::TcpListener;

use crate::encrypted::{Server, ask_unchecked, serve_http2};
use crate::support::{ask, error, transport};

#[tokio::test]
async fn http2_is_agreed_upon_over_tls() {
    let server = Server::encrypted("agreed", b"h2").await;
    let record = ask(&transport(&server.spec(HttpVersion::Http2))).await;
    assert_eq!(record.text, "HTTP/2.0", "{record:?}");
}

#[tokio::test]
async fn a_server_without_http2_is_told_from_a_broken_one() {
    let server = Server::encrypted("without", b"").await;
    let record = ask(&transport(&server.spec(HttpVersion::Http2))).await;
    let (kind, message) = error(&record);
    assert_eq!(kind, ErrorKind::Tls);
    assert!(message.ends_with("does not offer HTTP/2; ask it over HTTP/1.1"), "{message}");
}

#[tokio::test]
async fn http2_streams_share_a_connection_by_prior_knowledge() {
    let server = plain().await;
    let transport = transport(&server.spec(HttpVersion::Http2));
    let (first, second) = tokio::join!(ask(&transport), ask(&transport));
    assert_eq!((first.text.as_str(), second.text.as_str()), ("HTTP/2.0", "HTTP/2.0"));
    assert!(matches!(first.connection, Some(Connection::New { .. })), "{first:?}");
    assert_eq!(second.connection, Some(Connection::Reused));
    let life = [first.sent, first.headers, first.first_byte, Some(first.ended)];
    assert!(life.is_sorted() && life[0].is_some(), "{life:?}");
}

#[tokio::test]
async fn http2_connections_take_turns() {
    let server = plain().await;
    let mut spec = server.spec(HttpVersion::Http2);
    spec.http2_connections = 2;
    let transport = transport(&spec);
    let mut reused = Vec::new();
    for _ in 0..4 {
        reused.push(ask(&transport).await.connection == Some(Connection::Reused));
    }
    assert_eq!(reused, [false, false, true, true]);
}

#[tokio::test]
async fn http2_connections_can_be_opened_ahead() {
    let server = plain().await;
    let transport = transport(&server.spec(HttpVersion::Http2));
    transport.preconnect(8).await.unwrap();
    assert_eq!(ask(&transport).await.connection, Some(Connection::Reused));
}

#[tokio::test]
async fn an_unknown_authority_is_accepted_without_a_check() {
    let server = Server::encrypted("unchecked-http2", b"h2").await;
    assert_eq!(ask_unchecked(&server, HttpVersion::Http2).await, "HTTP/2.0");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_kernels_stamps_bound_what_shares_a_connection() {
    let server = Server::encrypted("stamped-http2", b"h2").await;
    let clock = crate::encrypted::stamped_by(&server, HttpVersion::Http2).await;
    assert_eq!(clock, servemark_core::ArrivalClock::KernelBound);
}

/// Starts a server without TLS.
async fn plain() -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(serve_http2(stream));
        }
    });
    Server { address, authority: None }
}
