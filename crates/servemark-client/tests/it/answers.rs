//! The records of each kind of answer.

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use servemark_backends::{BackendName, BackendSpec, CommonSpec};
use servemark_client::{Credentials, HttpTransport, Target};
use servemark_core::{ErrorKind, MonotonicClock, RequestRecord, Sample};

use crate::support::{
    Echo, LAST_CHUNK, RawServer, STREAM, ask, ask_for, chunk, document, error, over, stream,
    transport,
};

async fn answer(bytes: impl Into<Vec<u8>>) -> RequestRecord {
    let server = RawServer::answering_once(bytes).await;
    ask(&transport(&server.spec())).await
}

#[track_caller]
fn failed(record: &RequestRecord, kind: ErrorKind, message: &str) {
    assert_eq!(error(record), (kind, message));
}

#[tokio::test]
async fn a_stream() {
    let record = answer(stream(&["a", "b"])).await;
    assert!(record.is_success());
    assert_eq!((record.status, record.text.as_str(), record.deltas.len()), (Some(200), "ab", 2));
}

#[tokio::test]
async fn a_document() {
    let record = answer(document("200 OK", "application/json; charset=utf-8", "[1, 2]")).await;
    assert_eq!((record.is_success(), record.text.as_str()), (true, "[1, 2]"));
}

/// Returns the record of lines that the server sends one by one, each after the client read the
/// last.
async fn lines_one_by_one(content_type: &'static str) -> RequestRecord {
    let echo = Echo::default();
    let notify = Arc::clone(&echo.decoded);
    let server = RawServer::start(move |mut peer| {
        let notify = Arc::clone(&notify);
        async move {
            peer.request().await;
            peer.send(format!("HTTP/1.0 200 OK\r\ncontent-type: {content_type}\r\n\r\n")).await;
            for line in ["{\"a\":1}\n", "{\"b\"", ":2}\r\n{\"c\":3}\n", "{\"d\":4}"] {
                peer.send(line).await;
                if line.contains('\n') {
                    notify.notified().await;
                }
            }
        }
    })
    .await;
    ask(&over(&server.spec(), echo)).await
}

#[tokio::test]
async fn lines_are_stamped_per_read_as_events_are() {
    for content_type in [
        "application/x-ndjson",
        "application/jsonl",
        "Application/JSON-Lines; charset=utf-8",
        "application/x-ndjson; charset=utf-8",
    ] {
        let record = lines_one_by_one(content_type).await;
        assert!(record.is_success() && !record.is_document, "{content_type}: {record:?}");
        assert_eq!(record.text, r#"{"a":1}{"b":2}{"c":3}{"d":4}"#, "{content_type}");
        let at: Vec<_> = record.deltas.rows().map(|row| row.at).collect();
        assert!(at[0] < at[1] && at[1] == at[2] && at[2] <= at[3], "{content_type}: {at:?}");
    }
}

#[tokio::test]
async fn events_that_are_announced_as_lines_are_events() {
    let body = "data: a\n\ndata: b\n\ndata: [DONE]\n\n";
    let record = answer(document("200 OK", "application/x-ndjson", body)).await;
    assert_eq!((record.is_success(), record.deltas.len()), (true, 2));
    assert_eq!((record.text.as_str(), record.is_document), ("ab", false));
}

#[tokio::test]
async fn lines_of_words_are_lines_whatever_their_first_letter_is() {
    for word in ["delta", "data", "event", "idle", "re:sult"] {
        let body = format!("{word} a\n{word} b\n");
        let record = answer(document("200 OK", "application/x-ndjson", &body)).await;
        assert_eq!((record.text.as_str(), record.deltas.len()), (&*body.replace('\n', ""), 2));
    }
}

#[tokio::test]
async fn a_stream_of_lines_that_ends_within_one() {
    let record = answer(document("200 OK", "application/x-ndjson", "{}\n?")).await;
    failed(&record, ErrorKind::Truncated, "the stream ended in the middle of a line");
    assert_eq!(record.text, "{}");
}

/// Sends a body to the dialect of lines under a server's content type.
async fn ollama(content_type: &str, body: &str) -> RequestRecord {
    let server = RawServer::answering_once(document("200 OK", content_type, body)).await;
    let spec = BackendSpec::new(BackendName::OllamaChat, CommonSpec::new("m"));
    ask(&over(&server.spec(), spec.build())).await
}

#[tokio::test]
async fn a_dialect_of_lines_is_read_under_any_content_type() {
    let lines = [
        r#"{"message":{"content":"a"},"done":false}"#,
        r#"{"message":{"content":"b"},"done":false}"#,
        r#"{"message":{"content":""},"done":true,"done_reason":"stop","eval_count":2}"#,
    ];
    let events = format!("data: {}\n\n", lines.join("\n\ndata: "));
    for (content_type, body) in [
        ("application/x-ndjson", lines.join("\n")),
        ("application/json", lines.join("\n")),
        ("text/plain", lines.join("\n")),
        ("text/event-stream", events.clone()),
        ("application/x-ndjson", events.clone()),
        ("text/plain", events),
    ] {
        let record = ollama(content_type, &body).await;
        assert!(record.is_success() && !record.is_document, "{content_type}: {record:?}");
        assert_eq!((record.text.as_str(), record.deltas.len()), ("ab", 2), "{content_type}");
        assert_eq!(record.usage.and_then(|usage| usage.completion_tokens), Some(2));
    }
}

#[tokio::test]
async fn an_answer_that_does_not_say_what_it_is() {
    let record = answer("HTTP/1.0 200 OK\r\n\r\ndata: a\n\ndata: [DONE]\n\n").await;
    assert_eq!((record.is_success(), record.text.as_str()), (true, "a"));
    let record = answer(document("200 OK", "text/plain", "{\"a\": 1}")).await;
    assert_eq!((record.is_success(), record.text.as_str()), (true, "{\"a\": 1}"));
}

#[tokio::test]
async fn a_stream_without_its_last_blank_line() {
    let record = answer(format!("{STREAM}{}{LAST_CHUNK}", chunk("data: a\n\ndata: b"))).await;
    assert_eq!((record.is_success(), record.text.as_str()), (true, "ab"));
}

#[tokio::test]
async fn a_stream_that_ends_within_an_event() {
    let record = answer("HTTP/1.0 200 OK\r\n\r\ndata: a\n\ndata: ?").await;
    failed(&record, ErrorKind::Truncated, "the stream ended in the middle of an event");
    assert_eq!(record.text, "a");
    let record = answer("HTTP/1.0 200 OK\r\n\r\ndata: a\n\ndata: ?\n").await;
    failed(&record, ErrorKind::Decode, "no word of ours");
}

#[tokio::test]
async fn an_error_within_a_stream() {
    let record = answer(stream(&["a", "!"])).await;
    failed(&record, ErrorKind::InStream, "boom");
    assert_eq!(record.text, "a");
}

#[tokio::test]
async fn nothing_at_all() {
    let record = answer(document("200 OK", "text/event-stream", "")).await;
    failed(&record, ErrorKind::Empty, "the server answered 200 with an empty body");
}

#[tokio::test]
async fn another_status() {
    let body = r#"{"error": {"message": "no such model", "code": 404}}"#;
    let record = answer(document("404 Not Found", "application/json", body)).await;
    failed(
        &record,
        ErrorKind::Status,
        "the server answered 404 for /echo: no such model; \
         does the server offer this route under this base URL?",
    );
    assert_eq!((record.status, record.first_byte), (Some(404), None));
    assert!(record.headers.is_some());
}

#[tokio::test]
async fn a_created_is_not_ok() {
    let record = answer(document("201 Created", "text/event-stream", "data: a\n\n")).await;
    assert_eq!(error(&record).0, ErrorKind::Status);
}

#[tokio::test]
async fn a_status_whose_body_is_cut_is_still_that_status() {
    let record = answer("HTTP/1.1 500 Oops\r\ncontent-length: 100\r\n\r\nboom").await;
    failed(&record, ErrorKind::Status, "the server answered 500 for /echo");
}

#[tokio::test]
async fn a_connection_lost_within_the_body() {
    let record = answer(format!("{STREAM}{}", chunk("data: a\n\n"))).await;
    let (kind, message) = error(&record);
    assert_eq!(kind, ErrorKind::Truncated);
    assert!(
        message.starts_with("the connection was lost in the middle of the answer"),
        "{message}"
    );
    assert_eq!(record.text, "a");
}

#[tokio::test]
async fn framing_that_is_not_http() {
    let record = answer(format!("{STREAM}no size\r\n")).await;
    assert_eq!(error(&record).0, ErrorKind::Decode, "{record:?}");
    let record = answer("SSH-2.0-OpenSSH_9.2\r\n\r\n").await;
    assert_eq!(error(&record).0, ErrorKind::Decode, "{record:?}");
}

#[tokio::test]
async fn a_compressed_answer_that_was_not_asked_for_names_the_cure() {
    let coded = |coding: &str| {
        STREAM.replace("\r\n\r\n", &format!("\r\ncontent-encoding: {coding}\r\n\r\n"))
    };
    let record = answer(coded("gzip") + LAST_CHUNK).await;
    failed(
        &record,
        ErrorKind::Decode,
        "the server compressed its answer (content-encoding: gzip), which it was not asked to; \
         send a header Accept-Encoding: gzip to accept that, or turn compression off in the server \
         or its proxy",
    );
    let record = answer(coded("br") + LAST_CHUNK).await;
    failed(
        &record,
        ErrorKind::Decode,
        "the server compressed its answer (content-encoding: br), and only gzip and deflate are \
         read; make it or its proxy send one of them or none",
    );
}

/// Returns the coder's output since the last call.
fn coded(coder: &mut (impl Write + AsMut<Vec<u8>>), text: &str) -> Vec<u8> {
    coder.write_all(text.as_bytes()).unwrap();
    coder.flush().unwrap();
    std::mem::take(coder.as_mut())
}

/// A coder of either kind, with access to its output.
struct Coder<W>(W, fn(&mut W) -> &mut Vec<u8>);

impl<W: Write> Write for Coder<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl<W> AsMut<Vec<u8>> for Coder<W> {
    fn as_mut(&mut self) -> &mut Vec<u8> {
        (self.1)(&mut self.0)
    }
}

/// Sends a stream whose reads hold one event each, each sent after the previous one was read.
async fn compressed(coding: &'static str, reads: Vec<Vec<u8>>) -> RequestRecord {
    let echo = Echo::default();
    let notify = Arc::clone(&echo.decoded);
    let server = RawServer::start(move |mut peer| {
        let (notify, reads) = (Arc::clone(&notify), reads.clone());
        async move {
            let request = peer.request().await.unwrap();
            assert!(request.contains("accept-encoding: gzip, deflate\r\n"), "{request}");
            let head = format!("text/event-stream\r\ncontent-encoding: {coding}");
            peer.send(format!("HTTP/1.0 200 OK\r\ncontent-type: {head}\r\n\r\n")).await;
            for read in &reads {
                peer.send(read).await;
                notify.notified().await;
            }
        }
    })
    .await;
    let credentials = Credentials::new().header("Accept-Encoding", "gzip, deflate").unwrap();
    let target = Target::new(&server.spec(), credentials).unwrap();
    ask(&HttpTransport::new(target, echo, MonotonicClock::start())).await
}

#[tokio::test]
async fn a_compressed_answer_that_was_asked_for_is_read_while_it_arrives() {
    let level = Compression::fast();
    let events = ["data: a\n\n", "data: b\n\n", "data: [DONE]\n\n"];
    let mut gzip = Coder(GzEncoder::new(Vec::new(), level), GzEncoder::get_mut);
    let mut zlib = Coder(ZlibEncoder::new(Vec::new(), level), ZlibEncoder::get_mut);
    for (coding, reads) in [
        ("gzip", events.map(|event| coded(&mut gzip, event))),
        ("deflate", events.map(|event| coded(&mut zlib, event))),
    ] {
        let record = compressed(coding, reads.to_vec()).await;
        assert_eq!((record.is_success(), record.text.as_str()), (true, "ab"), "{record:?}");
        let at: Vec<_> = record.deltas.rows().map(|row| row.at).collect();
        assert!(at[0] < at[1], "{coding}: {at:?}");
    }
}

#[tokio::test]
async fn a_compressed_answer_that_is_none_is_refused() {
    let record = compressed("gzip", vec![b"data: a\n\ndata: b\n\n".to_vec()]).await;
    let (kind, message) = error(&record);
    assert_eq!(kind, ErrorKind::Decode);
    assert!(message.starts_with("the answer cannot be decompressed"), "{message}");
}

#[tokio::test]
async fn a_bomb_is_bounded_by_the_limit_of_an_answer() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&vec![b'x'; 64 << 20]).unwrap();
    let bomb = gzip.finish().unwrap();
    let length = bomb.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n\
         content-length: {length}\r\n\r\n"
    );
    let server = RawServer::answering([head.into_bytes(), bomb].concat()).await;
    let mut spec = server.spec();
    spec.answers.each = 1 << 20;
    let credentials = Credentials::new().header("Accept-Encoding", "gzip").unwrap();
    let target = Target::new(&spec, credentials).unwrap();
    let record = ask(&HttpTransport::new(target, Echo::default(), MonotonicClock::start())).await;
    assert_eq!(error(&record).0, ErrorKind::AnswerTooLarge, "{record:?}");
}

#[tokio::test]
async fn what_goes_out() {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
    let server = RawServer::start(move |mut peer| {
        let sender = sender.clone();
        async move {
            sender.send(peer.request().await.unwrap()).await.unwrap();
            peer.send(stream(&["a"])).await;
        }
    })
    .await;
    let mut sample = Sample::new("hi", 1, 4);
    sample.headers.push(("X-Key".to_owned(), "7".to_owned()));
    ask_for(&transport(&server.spec()), &sample).await;
    let expected = format!(
        "POST /echo HTTP/1.1\r\nhost: {}\r\naccept: */*\r\nuser-agent: servemark/{}\r\n\
         content-type: application/json\r\nx-key: 7\r\ncontent-length: 7\r\n\r\n{{\"n\":4}}",
        server.address(),
        env!("CARGO_PKG_VERSION"),
    );
    assert_eq!(receiver.recv().await.unwrap(), expected);
}
