//! What becomes of each sort of answer.

use servemark_core::{ErrorKind, RequestRecord, Sample};

use crate::support::{
    LAST_CHUNK, RawServer, STREAM, ask, ask_for, chunk, document, error, stream, transport,
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
async fn a_compressed_answer() {
    let head = STREAM.replace("\r\n\r\n", "\r\ncontent-encoding: gzip\r\n\r\n");
    let record = answer(head + LAST_CHUNK).await;
    failed(&record, ErrorKind::Decode, "the server compressed its answer, which nobody asked for");
}

#[tokio::test]
async fn what_goes_out() {
    let (tell, mut told) = tokio::sync::mpsc::channel(1);
    let server = RawServer::start(move |mut peer| {
        let tell = tell.clone();
        async move {
            tell.send(peer.request().await.unwrap()).await.unwrap();
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
    assert_eq!(told.recv().await.unwrap(), expected);
}
