//! Texts that are read again and again.

use std::time::Duration;

use servemark_client::{ClientError, ClientErrorKind, Credentials, Target, TargetSpec, TextReader};
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
    let text = reader.read().await?;
    Ok(String::from_utf8(text.as_bytes().to_vec()).unwrap())
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
    for _ in 0..=cuts {
        assert_eq!(read(&mut reader).await.unwrap(), expected);
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
    let mut lengths = Vec::new();
    for _ in 0..4 {
        lengths.push(reader.read().await.unwrap().as_bytes().len());
    }
    assert_eq!((lengths, server.accepted()), (vec![5, 3_000_000, 6_000_000, 5], 1));
}

#[tokio::test]
async fn a_connection_that_ends_is_replaced() {
    let server = RawServer::answering_once(whole("a 1\n")).await;
    let mut kept = reader(&server.spec());
    for _ in 0..3 {
        assert_eq!(read(&mut kept).await.unwrap(), "a 1\n");
    }
    assert_eq!(server.accepted(), 3);
    let server = RawServer::answering_once("HTTP/1.1 200 OK\r\n\r\na 1\n").await;
    assert_eq!(read(&mut reader(&server.spec())).await.unwrap(), "a 1\n", "until its end");
}

#[tokio::test]
async fn a_target_without_keep_alive_has_a_connection_for_each_text() {
    let server = RawServer::answering(whole("a 1\n")).await;
    let mut spec = server.spec();
    spec.reuse.keep_alive = false;
    let mut reader = reader(&spec);
    for _ in 0..2 {
        assert_eq!(read(&mut reader).await.unwrap(), "a 1\n");
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

/// The timer of the first reading has run out when the second one begins.
#[tokio::test]
async fn a_silent_server_is_not_waited_for() {
    let server = RawServer::start(|mut peer| async move {
        if peer.number == 0 {
            peer.request().await;
            peer.send(whole("a 1\n")).await;
        }
        peer.hold().await;
    })
    .await;
    let mut reader = with_limit(&server.spec(), Duration::from_millis(400));
    assert_eq!(read(&mut reader).await.unwrap(), "a 1\n");
    for _ in 0..2 {
        let error = read(&mut reader).await.unwrap_err();
        is(&error, ClientErrorKind::Timeout, "time-out of 400ms passed");
    }
}
