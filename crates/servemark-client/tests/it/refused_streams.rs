//! HTTP/2 streams that a server reports as not processed are sent once more, on another connection.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use servemark_client::{HttpVersion, TargetSpec};
use servemark_core::{Connection, ErrorKind, RequestRecord, Unprocessed};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::encrypted::{serve_http2, version};
use crate::support::{ask, error, transport};

const PREFACE: usize = 24;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const NO_ERROR: u32 = 0;
const REFUSED_STREAM: u32 = 7;
const INTERNAL_ERROR: u32 = 2;

fn frame(kind: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, 0], &stream.to_be_bytes(), payload].concat()
}

fn reset(stream: u32, reason: u32) -> Vec<u8> {
    frame(RST_STREAM, stream, &reason.to_be_bytes())
}

fn go_away_before(stream: u32) -> Vec<u8> {
    let last = stream.saturating_sub(2);
    frame(GOAWAY, 0, &[last.to_be_bytes(), NO_ERROR.to_be_bytes()].concat())
}

fn go_away_after(stream: u32) -> Vec<u8> {
    frame(GOAWAY, 0, &[stream.to_be_bytes(), NO_ERROR.to_be_bytes()].concat())
}

/// Answers the first stream of a connection with a frame, and closes the connection if `closes` is
/// set.
async fn refuse(mut peer: TcpStream, answer: fn(u32) -> Vec<u8>, closes: bool) {
    peer.read_exact(&mut [0; PREFACE]).await.unwrap();
    peer.write_all(&frame(SETTINGS, 0, &[])).await.unwrap();
    let mut head = [0; 9];
    while peer.read_exact(&mut head).await.is_ok() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        peer.read_exact(&mut vec![0; length as usize]).await.unwrap();
        if head[3] == HEADERS {
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            peer.write_all(&answer(stream)).await.unwrap();
            if closes {
                return;
            }
        }
    }
}

/// Starts a server that refuses streams on its first connections and answers on later ones.
async fn server(refusing: usize, answer: fn(u32) -> Vec<u8>, closes: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for number in 0.. {
            let (stream, _) = listener.accept().await.unwrap();
            if number < refusing {
                tokio::spawn(refuse(stream, answer, closes));
            } else {
                tokio::spawn(serve_http2(stream));
            }
        }
    });
    address
}

fn spec(address: SocketAddr) -> TargetSpec {
    let mut spec = TargetSpec::new(format!("http://{address}").parse().unwrap());
    spec.http_version = HttpVersion::Http2;
    spec
}

fn reason(record: &RequestRecord) -> Option<Unprocessed> {
    record.resent.map(|resent| resent.reason)
}

#[tokio::test]
async fn a_refused_stream_is_sent_once_more_on_another_connection() {
    let address = server(1, |stream| reset(stream, REFUSED_STREAM), false).await;
    let record = ask(&transport(&spec(address))).await;
    assert_eq!(
        (record.text.as_str(), reason(&record)),
        ("HTTP/2.0", Some(Unprocessed::RefusedStream))
    );
    assert!(matches!(record.connection, Some(Connection::New { .. })), "{record:?}");
    assert!(record.sent > record.resent.unwrap().first_sent);
}

#[tokio::test]
async fn a_stream_above_the_last_one_of_a_goaway_is_sent_once_more() {
    for closes in [false, true] {
        let address = server(1, go_away_before, closes).await;
        let record = ask(&transport(&spec(address))).await;
        assert_eq!(
            (record.text.as_str(), reason(&record)),
            ("HTTP/2.0", Some(Unprocessed::GoAway))
        );
    }
}

#[tokio::test]
async fn a_stream_that_the_server_may_have_processed_is_sent_once() {
    for answer in [go_away_after as fn(u32) -> Vec<u8>, |stream| reset(stream, INTERNAL_ERROR)] {
        let address = server(1, answer, true).await;
        let record = ask(&transport(&spec(address))).await;
        assert_eq!((error(&record).0, reason(&record)), (ErrorKind::Connect, None), "{record:?}");
    }
}

#[tokio::test]
async fn a_stream_that_is_refused_twice_is_sent_for_the_third_time() {
    let address = server(2, |stream| reset(stream, REFUSED_STREAM), false).await;
    let record = ask(&transport(&spec(address))).await;
    assert_eq!(
        (record.text.as_str(), reason(&record)),
        ("HTTP/2.0", Some(Unprocessed::RefusedStream))
    );
}

#[tokio::test]
async fn a_stream_that_is_always_refused_fails_and_says_so() {
    let address = server(usize::MAX, |stream| reset(stream, REFUSED_STREAM), false).await;
    let record = ask(&transport(&spec(address))).await;
    assert_eq!(error(&record).0, ErrorKind::NotProcessed);
    assert!(error(&record).1.contains("REFUSED_STREAM"), "{record:?}");
    assert_eq!(reason(&record), Some(Unprocessed::RefusedStream));
}

/// Serves a connection as nginx does with `http2_max_concurrent_streams 4` and
/// `keepalive_requests 5`.
async fn serve_five(stream: TcpStream) {
    let (served, enough) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let answer = service_fn({
        let (served, enough) = (Arc::clone(&served), Arc::clone(&enough));
        move |request| {
            if served.fetch_add(1, Ordering::Relaxed) == 4 {
                enough.notify_one();
            }
            version(request)
        }
    });
    let mut builder = http2::Builder::new(TokioExecutor::new());
    let connection =
        builder.max_concurrent_streams(4).serve_connection(TokioIo::new(stream), answer);
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = enough.notified() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

#[tokio::test]
async fn a_server_of_few_streams_and_requests_per_connection_loses_none() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            tokio::spawn(serve_five(listener.accept().await.unwrap().0));
        }
    });
    let transport = transport(&spec(address));
    for round in 0..10 {
        let calls: Vec<_> = (0..16).map(|_| ask(&transport)).collect();
        for record in futures_of(calls).await {
            assert_eq!(record.text, "HTTP/2.0", "{round}: {record:?}");
        }
    }
}

/// Runs futures together on this task.
async fn futures_of<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|cx| {
        let mut is_over = true;
        for (future, output) in running.iter_mut().filter(|(_, output)| output.is_none()) {
            match future.as_mut().poll(cx) {
                Poll::Ready(done) => *output = Some(done),
                Poll::Pending => is_over = false,
            }
        }
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    running.into_iter().filter_map(|(_, output)| output).collect()
}

#[tokio::test]
async fn without_resending_a_goaway_is_a_failure_of_its_own() {
    let mut spec = spec(server(1, go_away_before, false).await);
    spec.reuse.resend = false;
    let record = ask(&transport(&spec)).await;
    assert_eq!((error(&record).0, reason(&record)), (ErrorKind::NotProcessed, None));
    assert!(error(&record).1.contains("GOAWAY"), "{record:?}");
}
