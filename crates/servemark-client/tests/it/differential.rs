//! Equal bytes give equal records through our own HTTP/1.1 and through hyper's.

use std::sync::{Arc, Mutex};

use http::HeaderMap;
use servemark_backends::{Backend, BackendName, BackendSpec, CommonSpec};
use servemark_client::{Credentials, Fetch, Http1Stack, Target};
use servemark_core::{
    Connection, DeltaKind, DeltaRow, ErrorKind, Finish, MonotonicClock, RequestRecord, Unprocessed,
};
use servemark_testkit::captures::Capture;

use crate::support::{Echo, LAST_CHUNK, RawServer, STREAM, ask, chunk, document, over, stream};

/// What two clients must agree on: all but the stamps, and the cause within an error's message.
#[derive(Debug, PartialEq)]
struct Account {
    status: Option<u16>,
    text: String,
    pieces: Vec<(u32, Option<u32>, DeltaKind)>,
    received_bytes: u64,
    outcome: Result<Finish, (ErrorKind, String)>,
    reused: bool,
    resent: Option<Unprocessed>,
}

impl Account {
    fn of(record: RequestRecord) -> Self {
        let untimed = |row: DeltaRow| (row.bytes, row.tokens, row.kind);
        Self {
            status: record.status,
            pieces: record.deltas.rows().map(untimed).collect(),
            text: record.text,
            received_bytes: record.received_bytes,
            outcome: record.outcome.map_err(|error| {
                let message = error.message.split(": ").next().unwrap_or_default().to_owned();
                (error.kind, message)
            }),
            reused: record.connection == Some(Connection::Reused),
            resent: record.resent.map(|resent| resent.reason),
        }
    }
}

/// Sends two requests in a row over one stack.
async fn twice<B: Backend>(server: &RawServer, stack: Http1Stack, backend: B) -> [Account; 2] {
    let mut spec = server.spec();
    spec.http1_stack = stack;
    let transport = over(&spec, backend);
    let first = Account::of(ask(&transport).await);
    // The yields let both stacks notice that the server has closed.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    [first, Account::of(ask(&transport).await)]
}

/// What the server does with the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum After {
    Closed,
    Open,
}

/// Starts a server that sends `bytes` to every request, in writes of `write` bytes.
async fn server(bytes: &[u8], write: usize, after: After) -> RawServer {
    let bytes: Arc<[u8]> = bytes.into();
    RawServer::start(move |mut peer| {
        let bytes = Arc::clone(&bytes);
        async move {
            while peer.request().await.is_some() {
                for piece in bytes.chunks(write) {
                    peer.send(piece).await;
                    tokio::task::yield_now().await;
                }
                if after == After::Closed {
                    break;
                }
            }
        }
    })
    .await
}

async fn same<B: Backend + Clone>(bytes: &[u8], write: usize, after: After, backend: B) {
    let server = server(bytes, write, after).await;
    let hyper = twice(&server, Http1Stack::Hyper, backend.clone()).await;
    let direct = twice(&server, Http1Stack::Direct, backend).await;
    let rendered = bytes[..bytes.len().min(500)].escape_ascii();
    assert_eq!(direct, hyper, "in writes of {write}, then {after:?}: {rendered}");
}

async fn alike(bytes: impl AsRef<[u8]>, after: After) {
    for write in [usize::MAX, 1, 5] {
        same(bytes.as_ref(), write, after, Echo::default()).await;
    }
}

/// Compares both stacks with the connection kept and with it closed.
async fn always_alike(bytes: impl AsRef<[u8]>) {
    alike(bytes.as_ref(), After::Open).await;
    alike(bytes.as_ref(), After::Closed).await;
}

/// Returns the head of a stream with one more line.
fn with(line: &str) -> String {
    STREAM.replacen("\r\n", &format!("\r\n{line}\r\n"), 1)
}

#[tokio::test]
async fn recordings_of_real_servers() {
    let chat = BackendSpec::new(BackendName::SglangOaiChat, CommonSpec::new("tiny")).build();
    for capture in Capture::all() {
        for write in [usize::MAX, 700] {
            same(&capture.raw, write, After::Closed, chat.clone()).await;
        }
    }
}

#[tokio::test]
async fn streams_and_documents() {
    always_alike(stream(&["a", "b"])).await;
    always_alike(document("200 OK", "application/json", "[1]")).await;
    always_alike(document("200 OK", "application/json", "")).await;
    always_alike(document("404 Not Found", "text/plain", "no")).await;
    let long = document("500 Oops", "application/json", &"x".repeat(100_000));
    same(long.as_bytes(), 4_000, After::Open, Echo::default()).await;
}

#[tokio::test]
async fn chunks_of_every_sort() {
    let body = chunk("data: a\n\n");
    always_alike(format!("{STREAM}{body}0\r\nx-checksum: 7\r\n\r\n")).await;
    always_alike(format!("{STREAM}9;name=\"value\"\r\ndata: a\n\n\r\n{LAST_CHUNK}")).await;
    always_alike(format!("{STREAM}0009 \r\ndata: a\n\n\r\n00\r\n\r\n")).await;
    always_alike(format!("{STREAM}{}{body}{LAST_CHUNK}", chunk("data: "))).await;
    always_alike(format!("{STREAM}{LAST_CHUNK}")).await;
}

#[tokio::test]
async fn chunks_that_are_none() {
    let body = chunk("data: a\n\n");
    for wrong in ["x\r\n", "-1\r\n", "\r\n", "fffffffffffffffff\r\n", "1\nab", "9\r\ndata: b\n\nxx"]
    {
        always_alike(format!("{STREAM}{body}{wrong}{LAST_CHUNK}")).await;
    }
}

#[tokio::test]
async fn answers_that_break_off() {
    let whole = stream(&["a", "b"]);
    for length in [0, 9, 40, STREAM.len(), STREAM.len() + 2, STREAM.len() + 9, whole.len() - 40] {
        alike(&whole[..length], After::Closed).await;
    }
    alike(&document("200 OK", "application/json", "[1, 2]")[..70], After::Closed).await;
}

#[tokio::test]
async fn a_connection_is_kept_by_the_same_rules() {
    let body = chunk("data: a\n\n") + LAST_CHUNK;
    always_alike(format!("{}{body}", with("connection: close"))).await;
    always_alike(format!("{}{body}", with("Connection: Keep-Alive"))).await;
    let old = |more: &str| format!("HTTP/1.0 200 OK\r\n{more}content-length: 3\r\n\r\n[1]");
    always_alike(old("")).await;
    always_alike(old("connection: keep-alive\r\n")).await;
    alike("HTTP/1.0 200 OK\r\n\r\ndata: a\n\ndata: [DONE]\n\n", After::Closed).await;
    alike("HTTP/1.1 200 OK\r\n\r\ndata: a\n\ndata: b\n\n", After::Closed).await;
}

#[tokio::test]
async fn interim_answers_are_passed_over() {
    let whole = stream(&["a"]);
    always_alike(format!("HTTP/1.1 100 Continue\r\n\r\n{whole}")).await;
    let hints = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
    always_alike(format!("{hints}{hints}{whole}")).await;
}

#[tokio::test]
async fn a_head_that_was_asked_for_alone_has_no_body() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\nx-size: 7\r\n\r\n";
    let server = server(head.as_bytes(), usize::MAX, After::Open).await;
    for stack in [Http1Stack::Hyper, Http1Stack::Direct] {
        let mut spec = server.spec();
        spec.http1_stack = stack;
        let target = Target::new(&spec, Credentials::new()).unwrap();
        let (headers, clock) = (HeaderMap::new(), MonotonicClock::start());
        let mut fetch = Fetch::head(&target, "/file", &headers, clock).await.unwrap();
        assert_eq!(fetch.header("x-size"), Some("7"));
        assert_eq!(fetch.next().await.unwrap(), None, "{stack:?}");
    }
}

#[tokio::test]
async fn heads_of_every_sort() {
    let body = chunk("data: a\n\n") + LAST_CHUNK;
    always_alike(format!("{}{body}", with("content-length: 3"))).await;
    always_alike("HTTP/1.1 204 No Content\r\n\r\n").await;
    always_alike("HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n").await;
    always_alike("HTTP/1.1 200\r\ncontent-length: 3, 3\r\n\r\n[1]").await;
    alike("HTTP/1.1 200 OK\r\ncontent-length: 3, 4\r\n\r\n[1]", After::Closed).await;
    alike("HTTP/1.1 200 OK\r\ncontent-length: +3\r\n\r\n[1]", After::Closed).await;
    alike("HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", After::Closed).await;
    alike("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n[1]", After::Closed).await;
    alike("HTTP/1.1 200 OK\r\nbad header\r\n\r\n", After::Closed).await;
    alike("SSH-2.0-OpenSSH_9.2\r\n", After::Closed).await;
}

#[tokio::test]
async fn the_requests_are_the_same_bytes() {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&requests);
    let server = RawServer::start(move |mut peer| {
        let log = Arc::clone(&log);
        async move {
            while let Some(request) = peer.request().await {
                log.lock().unwrap().push(request);
                peer.send(stream(&["a"])).await;
            }
        }
    })
    .await;
    twice(&server, Http1Stack::Hyper, Echo::default()).await;
    twice(&server, Http1Stack::Direct, Echo::default()).await;
    let requests = requests.lock().unwrap();
    assert_eq!(requests.len(), 4);
    assert!(requests.iter().all(|request| *request == requests[0]), "{requests:#?}");
}
