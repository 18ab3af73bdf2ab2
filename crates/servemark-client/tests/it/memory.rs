//! Answers without an end: their memory limits, and that they are abandoned above a limit.

use std::sync::Arc;

use servemark_client::TargetSpec;
use servemark_core::{ErrorKind, RequestRecord, Sample};
use tokio::io::AsyncWriteExt;
use tokio::sync::{Notify, mpsc};

use crate::support::{
    LAST_CHUNK, Peer, RawServer, STREAM, ask_for, chunk, error, stream, transport,
};

/// Starts a server that answers as the header `x-answer` says, and reports every endless answer
/// whose connection the client has closed.
async fn server(release: Arc<Notify>) -> (RawServer, mpsc::UnboundedReceiver<usize>) {
    let (closed, seen_closed) = mpsc::unbounded_channel();
    let server = RawServer::start(move |mut peer| {
        let (closed, release) = (closed.clone(), Arc::clone(&release));
        async move {
            while let Some(request) = peer.request().await {
                let endless = ENDLESS.iter().find(|(name, ..)| request.contains(name));
                if let Some((_, head, piece)) = endless {
                    pour(&mut peer, head, piece).await;
                    let _ = closed.send(peer.number);
                    return;
                }
                peer.send(format!("{STREAM}{}", chunk("data: a\n\n"))).await;
                release.notified().await;
                peer.send(chunk("data: b\n\ndata: [DONE]\n\n") + LAST_CHUNK).await;
            }
        }
    })
    .await;
    (server, seen_closed)
}

/// Sends a piece again and again until the client closes the connection.
async fn pour(peer: &mut Peer, content_type: &str, piece: &str) {
    peer.send(format!("HTTP/1.0 200 OK\r\ncontent-type: {content_type}\r\n\r\n{{data: ")).await;
    let many = piece.repeat(8192);
    while peer.stream.write_all(many.as_bytes()).await.is_ok() {}
}

const ENDLESS: [(&str, &str, &str); 4] = [
    ("line-of-json", "application/x-ndjson", "xxxxxxxx"),
    ("line-of-event", "text/event-stream", "xxxxxxxx"),
    ("events", "text/event-stream", "\n\ndata: a\n\n"),
    ("document", "application/json", "[1,2,3],"),
];

async fn send_request(spec: &TargetSpec, what: &str) -> RequestRecord {
    let mut sample = Sample::new("hi", 1, 4);
    sample.headers.push(("x-answer".to_owned(), what.to_owned()));
    ask_for(&transport(spec), &sample).await
}

#[tokio::test]
async fn an_endless_answer_is_abandoned_at_its_limit_and_the_others_go_on() {
    let release = Arc::new(Notify::new());
    let (server, mut closed) = server(Arc::clone(&release)).await;
    let mut spec = server.spec();
    spec.answers.each = 1 << 17;
    let hogs = async {
        let [a, b, c, d] = ENDLESS.map(|(name, ..)| send_request(&spec, name));
        let records = tokio::join!(a, b, c, d);
        release.notify_one();
        records
    };
    let ((a, b, c, d), small) = tokio::join!(hogs, send_request(&spec, "small"));
    assert_eq!((small.is_success(), small.text.as_str()), (true, "ab"), "{small:?}");
    for record in [a, b, c, d] {
        let (kind, message) = error(&record);
        assert_eq!(kind, ErrorKind::AnswerTooLarge, "{message}");
        assert!(
            message.contains("131072 bytes, the limit of `server.at.answers.each`"),
            "{message}"
        );
        // A few reads beyond the limit, of any size.
        assert!(record.received_bytes < 1 << 20, "{}", record.received_bytes);
        assert_eq!((record.deltas.len(), record.text.len()), (0, 0), "nothing of it is kept");
    }
    for _ in ENDLESS {
        closed.recv().await.expect("the connection is closed");
    }
}

#[tokio::test]
async fn answers_share_a_budget_and_a_small_one_is_not_refused() {
    let release = Arc::new(Notify::new());
    let (server, _closed) = server(Arc::clone(&release)).await;
    let mut spec = server.spec();
    spec.answers.together = Some(1 << 17);
    let transport = transport(&spec);
    let send = async |what: &str| {
        let mut sample = Sample::new("hi", 1, 4);
        sample.headers.push(("x-answer".to_owned(), what.to_owned()));
        ask_for(&transport, &sample).await
    };
    let hogs = async {
        let [a, b, c, d] = ENDLESS.map(|(name, ..)| send(name));
        let records = tokio::join!(a, b, c, d);
        release.notify_one();
        records
    };
    let ((a, b, c, d), small) = tokio::join!(hogs, send("small"));
    assert!(small.is_success(), "{small:?}");
    for record in [a, b, c, d] {
        let (kind, message) = error(&record);
        assert_eq!(kind, ErrorKind::AnswerTooLarge, "{message}");
        assert!(message.contains("131072 bytes together"), "{message}");
        assert!(record.received_bytes < 1 << 20, "{}", record.received_bytes);
    }
}

#[tokio::test]
async fn a_document_that_says_that_it_is_too_long_is_not_read() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2000\r\n\r\n";
    let server = RawServer::answering(format!("{head}{}", " ".repeat(2000))).await;
    let mut spec = server.spec();
    spec.answers.each = 1999;
    let record = send_request(&spec, "any").await;
    assert_eq!(error(&record).0, ErrorKind::AnswerTooLarge);
    spec.answers.each = 2000;
    assert!(send_request(&spec, "any").await.is_success());
}

/// A stream may have any length: only the bytes held of it count.
#[tokio::test]
async fn a_long_stream_of_comments_holds_nothing() {
    let comments = ": keep-alive\n\n".repeat(10_000);
    let body = format!("{STREAM}{}{}", chunk(&comments), &stream(&["a"])[STREAM.len()..]);
    let server = RawServer::answering(body).await;
    let mut spec = server.spec();
    spec.answers.each = 4_096;
    let record = send_request(&spec, "any").await;
    assert!(record.is_success(), "{record:?}");
}
