//! Which connection carries a request, and when it is kept.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;

use servemark_client::TargetSpec;
use servemark_core::{Connection, ErrorKind};

use crate::support::{LAST_CHUNK, RawServer, STREAM, ask, chunk, error, stream, transport};

fn is_new(connection: Option<Connection>) -> bool {
    matches!(connection, Some(Connection::New { connect_ns: 1.., tls_ns: None }))
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_request() {
    let server = RawServer::answering(stream(&["a"])).await;
    let transport = transport(&server.spec());
    assert!(is_new(ask(&transport).await.connection));
    assert_eq!(ask(&transport).await.connection, Some(Connection::Reused));
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_shard_has_connections_of_its_own() {
    let server = RawServer::answering(stream(&["a"])).await;
    let transport = transport(&server.spec());
    ask(&transport).await;
    assert!(is_new(ask(&transport.for_shard()).await.connection));
}

#[tokio::test]
async fn a_refusal_keeps_the_connection_too() {
    let server =
        RawServer::answering(crate::support::document("503 Busy", "text/plain", "no")).await;
    let transport = transport(&server.spec());
    ask(&transport).await;
    assert_eq!(ask(&transport).await.connection, Some(Connection::Reused));
}

#[tokio::test]
async fn a_server_that_closes_gets_a_new_connection() {
    let closing = STREAM.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
    let body = chunk("data: a\n\n") + LAST_CHUNK;
    let server = RawServer::answering_once(closing + &body).await;
    let transport = transport(&server.spec());
    for _ in 0..2 {
        let record = ask(&transport).await;
        assert!(record.is_success() && is_new(record.connection), "{record:?}");
    }
}

/// The server is a thread, so that it can close while the client's runtime stands still. After the
/// yield the runtime knows of it, but the connection's task has not run yet: the connection looks
/// open when it is taken from the pool.
#[tokio::test]
async fn a_request_that_never_left_is_sent_over_a_new_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (tell_closed, closed) = mpsc::channel();
    let (close, closing) = mpsc::channel();
    let server = std::thread::spawn(move || {
        let (mut first, _) = listener.accept().unwrap();
        let sent = answer(&mut first);
        closing.recv().unwrap();
        drop(first);
        tell_closed.send(()).unwrap();
        let (mut second, _) = listener.accept().unwrap();
        (sent, answer(&mut second))
    });

    let spec = TargetSpec::new(format!("http://{address}").parse().unwrap());
    let transport = transport(&spec);
    assert!(ask(&transport).await.is_success());
    close.send(()).unwrap();
    closed.recv().unwrap();
    tokio::task::yield_now().await;
    let record = ask(&transport).await;
    assert!(record.is_success() && is_new(record.connection), "{record:?}");
    let (first, second) = server.join().unwrap();
    assert_eq!(first, second);
}

fn answer(peer: &mut std::net::TcpStream) -> String {
    let mut buffer = [0; 4096];
    let mut request = String::new();
    while !request.ends_with('}') {
        let read = peer.read(&mut buffer).unwrap();
        request.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
    }
    peer.write_all(stream(&["a"]).as_bytes()).unwrap();
    request
}

#[tokio::test]
async fn a_request_that_left_on_a_new_connection_is_never_sent_again() {
    let server = RawServer::start(|mut peer| async move {
        peer.request().await;
    })
    .await;
    let record = ask(&transport(&server.spec())).await;
    assert!(is_new(record.connection));
    let message = format!("http://{} closed the connection without an answer", server.address());
    assert_eq!(error(&record).0, ErrorKind::Connect);
    assert!(error(&record).1.starts_with(&message), "{record:?}");
    assert!(record.sent.is_some());
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_reset_before_the_answer_is_no_connection() {
    let server = RawServer::start(|mut peer| async move {
        peer.request().await;
        peer.stream.set_zero_linger().unwrap();
    })
    .await;
    let record = ask(&transport(&server.spec())).await;
    let message = format!("http://{} reset the connection before the answer", server.address());
    assert_eq!(error(&record).0, ErrorKind::Connect);
    assert!(error(&record).1.starts_with(&message), "{record:?}");
}

#[tokio::test]
async fn a_connection_with_an_unread_answer_is_not_used_again() {
    let server = RawServer::start(|mut peer| async move {
        peer.request().await;
        let events = if peer.number == 0 { "data: a\n\ndata: !\n\n" } else { "data: b\n\n" };
        peer.send(format!("{STREAM}{}{LAST_CHUNK}", chunk(events))).await;
        peer.hold().await;
    })
    .await;
    let transport = transport(&server.spec());
    assert_eq!(error(&ask(&transport).await).0, ErrorKind::InStream);
    let record = ask(&transport).await;
    assert_eq!(record.text, "b");
    assert!(is_new(record.connection));
}

#[tokio::test]
async fn a_server_that_does_not_end_after_the_end_mark_costs_only_its_connection() {
    let server = RawServer::start(|mut peer| async move {
        peer.request().await;
        peer.send(format!("{STREAM}{}", chunk("data: a\n\ndata: [DONE]\n\n"))).await;
        peer.hold().await;
    })
    .await;
    let transport = transport(&server.spec());
    assert!(ask(&transport).await.is_success());
    assert!(is_new(ask(&transport).await.connection));
}

#[tokio::test]
async fn connections_can_be_opened_ahead() {
    let server = RawServer::answering(stream(&["a"])).await;
    let transport = transport(&server.spec());
    transport.preconnect(100).await.unwrap();
    assert_eq!(ask(&transport).await.connection, Some(Connection::Ahead));
    while server.accepted() < 100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.accepted(), 100);
}

#[tokio::test]
async fn connections_that_wait_are_not_opened_again() {
    let server = RawServer::answering(stream(&["a"])).await;
    let transport = transport(&server.spec());
    transport.preconnect(3).await.unwrap();
    transport.preconnect(5).await.unwrap();
    while server.accepted() < 5 {
        tokio::task::yield_now().await;
    }
    assert_eq!(ask(&transport).await.connection, Some(Connection::Ahead));
    assert_eq!(server.accepted(), 5);
}

#[tokio::test]
async fn no_server_listens() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let spec = TargetSpec::new(format!("http://{free}").parse().unwrap());
    let transport = transport(&spec);
    let record = ask(&transport).await;
    let (kind, message) = error(&record);
    assert_eq!(kind, ErrorKind::Connect);
    let expected = format!(
        "cannot connect to http://{free}, which refused the connection; is the server running?: "
    );
    assert!(message.starts_with(&expected), "{message}");
    assert_eq!((record.connection, record.sent), (None, None));
    assert!(transport.preconnect(1).await.unwrap_err().is_connect());
}
