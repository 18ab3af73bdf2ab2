//! Texts that are read again and again.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use servemark_client::{
    ClientError, ClientErrorKind, Credentials, Target, TargetSpec, Text, TextConnection, TextLoss,
    TextReader,
};
use servemark_core::MonotonicClock;

use crate::support::{LAST_CHUNK, RawServer, STREAM, chunk, document};

fn reader(spec: &TargetSpec) -> TextReader {
    with_limit(spec, Duration::from_secs(20))
}

fn with_limit(spec: &TargetSpec, limit: Duration) -> TextReader {
    let target = Target::new(spec, Credentials::new()).unwrap();
    TextReader::new(target, "/metrics", limit, MonotonicClock::start())
}

async fn read(reader: &mut TextReader) -> Result<String, ClientError> {
    reader.read().await.map(|text| string(&text))
}

fn string(text: &Text) -> String {
    String::from_utf8(text.as_bytes().to_vec()).unwrap()
}

/// Sends a request and receives the answer.
async fn ask(connection: &mut TextConnection) -> Result<String, TextLoss> {
    assert!(connection.send());
    poll_fn(|cx| match connection.receive() {
        Poll::Pending => {
            // The server runs between two looks.
            cx.waker().wake_by_ref();
            Poll::Pending
        }
        Poll::Ready(answer) => Poll::Ready(answer.map(|text| string(&text))),
    })
    .await
}

fn whole(body: &str) -> String {
    document("200 OK", "text/plain", body)
}

fn chunked(pieces: &[&str]) -> String {
    format!("{STREAM}{}{LAST_CHUNK}", pieces.iter().map(|piece| chunk(piece)).collect::<String>())
}

/// Reads an answer that arrives in two parts, cut at every place, and one that follows it.
async fn reads(answer: String, expected: &str) {
    let cuts = answer.len();
    let server = RawServer::start(move |mut peer| {
        let answer = answer.clone();
        async move {
            for cut in 1.. {
                let Some(request) = peer.request().await else { return };
                assert!(request.starts_with("GET /metrics HTTP/1.1\r\n"), "{request}");
                let (first, second) = answer.split_at(cut.min(answer.len()));
                peer.send(first).await;
                tokio::task::yield_now().await;
                peer.send(second).await;
            }
        }
    })
    .await;
    let mut reader = reader(&server.spec());
    assert_eq!(read(&mut reader).await.unwrap(), expected);
    let mut connection = reader.take_connection().unwrap();
    for _ in 0..cuts {
        assert_eq!(ask(&mut connection).await.unwrap(), expected);
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_text_of_every_framing_is_read_over_one_connection() {
    reads(whole("a 1\nb 2\n"), "a 1\nb 2\n").await;
    reads(whole(""), "").await;
    reads(chunked(&["a 1\nb 2\n"]), "a 1\nb 2\n").await;
    reads(chunked(&["a 1", "\nb", " 2\nc 3\n"]), "a 1\nb 2\nc 3\n").await;
    let hints = "HTTP/1.1 103 Early Hints\r\n\r\n";
    reads(format!("{hints}{}", chunked(&["a 1\n"])), "a 1\n").await;
}

#[tokio::test]
async fn a_text_is_larger_than_the_memory_of_the_one_before() {
    let long = "x".repeat(3_000_000);
    let server = RawServer::start(move |mut peer| {
        let answers = [whole("short"), whole(&long), chunked(&[&long, &long]), whole("short")];
        async move {
            for answer in answers {
                peer.request().await;
                peer.send(answer).await;
            }
            peer.hold().await;
        }
    })
    .await;
    let mut reader = reader(&server.spec());
    let mut lengths = vec![read(&mut reader).await.unwrap().len()];
    let mut connection = reader.take_connection().unwrap();
    for _ in 0..3 {
        lengths.push(ask(&mut connection).await.unwrap().len());
    }
    assert_eq!((lengths, server.accepted()), (vec![5, 3_000_000, 6_000_000, 5], 1));
}

#[tokio::test]
async fn a_connection_that_the_server_ends_is_found_ended() {
    let server = RawServer::answering_once(whole("a 1\n")).await;
    let mut reader = reader(&server.spec());
    read(&mut reader).await.unwrap();
    let mut connection = reader.take_connection().unwrap();
    // The server closes it after its answer, at any time.
    while connection.send() {
        tokio::task::yield_now().await;
    }
    assert_eq!(read(&mut reader).await.unwrap(), "a 1\n", "over another one");
    assert_eq!(server.accepted(), 2);
    let server = RawServer::answering_once("HTTP/1.1 200 OK\r\n\r\na 1\n").await;
    let mut reader = self::reader(&server.spec());
    assert_eq!(read(&mut reader).await.unwrap(), "a 1\n", "until its end");
    assert!(reader.take_connection().is_none());
}

/// Reads an answer, and then sends a request that is answered with `next`.
async fn after_an_answer(next: &'static str) -> (Result<String, TextLoss>, TextConnection) {
    let server = RawServer::start(move |mut peer| async move {
        for answer in [whole("a 1\n").as_str(), next] {
            peer.request().await;
            peer.send(answer).await;
        }
    })
    .await;
    let mut reader = reader(&server.spec());
    read(&mut reader).await.unwrap();
    let mut connection = reader.take_connection().unwrap();
    (ask(&mut connection).await, connection)
}

#[tokio::test]
async fn a_request_that_was_not_processed_may_be_sent_on_another_connection() {
    for next in ["", "HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n"] {
        let (answer, mut connection) = after_an_answer(next).await;
        assert!(matches!(answer, Err(TextLoss::Unprocessed)), "{answer:?}");
        assert!(!connection.send(), "{next}");
    }
}

#[tokio::test]
async fn a_connection_whose_answer_failed_carries_no_other_request() {
    let lost = "the connection was lost in the middle of the answer";
    for (next, kind, message) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\na 1\n", ClientErrorKind::Truncated, lost),
        ("HTTP/1.1 200", ClientErrorKind::Connect, "without an answer"),
        ("busy\r\n\r\n", ClientErrorKind::Decode, "is not HTTP"),
    ] {
        let (answer, mut connection) = after_an_answer(next).await;
        let Err(TextLoss::Failed(error)) = answer else { panic!("{next}: {answer:?}") };
        is(&error, kind, message);
        assert!(!connection.send(), "{next}");
    }
}

#[tokio::test]
async fn another_status_is_a_failure_that_keeps_the_connection() {
    let server = RawServer::start(|mut peer| async move {
        let busy = document("503 Service Unavailable", "text/plain", "busy");
        for answer in [whole("a 1\n"), busy, whole("a 2\n")] {
            peer.request().await;
            peer.send(answer).await;
        }
        peer.hold().await;
    })
    .await;
    let mut reader = reader(&server.spec());
    read(&mut reader).await.unwrap();
    let mut connection = reader.take_connection().unwrap();
    let answer = ask(&mut connection).await;
    let Err(TextLoss::Failed(error)) = answer else { panic!("{answer:?}") };
    is(&error, ClientErrorKind::Status(503), "the server answered 503 for /metrics: busy");
    assert_eq!(ask(&mut connection).await.unwrap(), "a 2\n");
}

#[tokio::test]
async fn what_follows_an_answer_belongs_to_no_request() {
    let (answer, mut connection) =
        after_an_answer("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\na 1\nHTTP/1.1 200 OK").await;
    assert_eq!(answer.unwrap(), "a 1\n");
    assert!(!connection.send());
}

/// Some servers say that they close an idle connection, and close it later.
#[tokio::test]
async fn a_connection_with_an_answer_to_nothing_carries_no_other_request() {
    let server = RawServer::start(|mut peer| async move {
        peer.request().await;
        peer.send(whole("a 1\n")).await;
        tokio::task::yield_now().await;
        peer.send("HTTP/1.1 408 Request Timeout\r\n\r\n").await;
        peer.hold().await;
    })
    .await;
    let mut reader = reader(&server.spec());
    read(&mut reader).await.unwrap();
    let mut connection = reader.take_connection().unwrap();
    while connection.send() {
        tokio::task::yield_now().await;
        connection.look();
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_target_without_keep_alive_has_a_connection_for_each_text() {
    let server = RawServer::answering(whole("a 1\n")).await;
    let mut spec = server.spec();
    spec.reuse.keep_alive = false;
    let mut reader = reader(&spec);
    for _ in 0..2 {
        assert_eq!(read(&mut reader).await.unwrap(), "a 1\n");
        assert!(reader.take_connection().is_none());
    }
    assert_eq!(server.accepted(), 2);
}

#[tokio::test]
async fn a_request_that_a_new_connection_lost_is_not_sent_again() {
    let server = RawServer::start(|mut peer| async move {
        peer.request().await;
    })
    .await;
    let error = read(&mut reader(&server.spec())).await.unwrap_err();
    assert_eq!((error.kind(), server.accepted()), (ClientErrorKind::Connect, 1));
    assert!(error.to_string().ends_with("closed the connection without an answer"), "{error}");
}

#[track_caller]
fn is(error: &ClientError, kind: ClientErrorKind, message: &str) {
    assert_eq!((error.kind(), error.to_string().contains(message)), (kind, true), "{error}");
}

async fn fails(answer: impl Into<Vec<u8>>, kind: ClientErrorKind, message: &str) {
    let server = RawServer::answering_once(answer).await;
    is(&read(&mut reader(&server.spec())).await.unwrap_err(), kind, message);
}

#[tokio::test]
async fn an_answer_that_is_no_text_is_told() {
    let lost = "the connection was lost in the middle of the answer";
    fails("SSH-2.0-OpenSSH_9.2\r\n", ClientErrorKind::Decode, "is not HTTP").await;
    fails([0x15, 3, 1, 0, 2, 2, 70], ClientErrorKind::Tls, "answered in TLS").await;
    fails(&whole("a 1\n")[..40], ClientErrorKind::Connect, "without an answer").await;
    fails(&*whole("a 1\n").replace("h: 4", "h: 9"), ClientErrorKind::Truncated, lost).await;
    fails(format!("{STREAM}zz\r\n"), ClientErrorKind::Decode, "the framing of the answer").await;
    let status = document("404 Not Found", "text/plain", "nothing here");
    let expected = "the server answered 404 for /metrics: nothing here";
    fails(status, ClientErrorKind::Status(404), expected).await;
    let endless = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(17 << 20));
    fails(endless, ClientErrorKind::Decode, "the answer has 16 MiB or more").await;
}

#[tokio::test]
async fn a_silent_server_is_not_waited_for() {
    let server = RawServer::start(|mut peer| async move { peer.hold().await }).await;
    let mut reader = with_limit(&server.spec(), Duration::from_millis(50));
    for _ in 0..2 {
        let error = read(&mut reader).await.unwrap_err();
        is(&error, ClientErrorKind::Timeout, "time-out of 50ms passed");
    }
}
