//! Requests that a server did not process are sent once more, on a new connection.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;

use servemark_client::{Credentials, Http1Stack, HttpTransport, Target, TargetSpec};
use servemark_core::{
    Clock, Connection, ErrorKind, MonotonicClock, RequestRecord, Resent, Stamp, Unprocessed,
};
use servemark_mock::{MockServer, MockSpec};
use tokio::io::AsyncReadExt;

use crate::precise::{Verbose, hi, soon};
use crate::support::{
    Echo, Peer, RawServer, ask, ask_at, document, error, hurried, over, stream, transport,
};

const STACKS: [Http1Stack; 2] = [Http1Stack::Direct, Http1Stack::Hyper];

fn with(stack: Http1Stack, mut spec: TargetSpec) -> TargetSpec {
    spec.http1_stack = stack;
    spec
}

fn without_resending(mut spec: TargetSpec) -> TargetSpec {
    spec.reuse.resend = false;
    spec
}

fn is_new(record: &RequestRecord) -> bool {
    matches!(record.connection, Some(Connection::New { .. }))
}

#[track_caller]
fn sent_again(record: &RequestRecord, reason: Unprocessed) {
    let Some(Resent { reason: told, first_sent: Some(first), .. }) = record.resent else {
        panic!("{record:?}");
    };
    assert_eq!((record.text.as_str(), told), ("a", reason), "{record:?}");
    assert!(is_new(record) && record.sent.unwrap() > first, "{record:?}");
}

/// How a server loses the second request of its first connection.
#[derive(Clone, Copy, Debug)]
enum Loss {
    Closes,
    Resets,
    ResetsMidway,
    Answers(&'static str),
    IsSilent,
}

impl Loss {
    async fn happen(self, peer: &mut Peer) {
        if !matches!(self, Self::ResetsMidway) {
            peer.request().await;
        }
        match self {
            Self::Closes => {}
            Self::Resets => peer.stream.set_zero_linger().unwrap(),
            Self::ResetsMidway => {
                peer.stream.read_exact(&mut [0; 100]).await.unwrap();
                peer.stream.set_zero_linger().unwrap();
            }
            Self::Answers(bytes) => peer.send(bytes).await,
            Self::IsSilent => peer.hold().await,
        }
    }
}

/// Starts a server that answers once on its first connection and then loses a request; on later
/// connections it answers every request, or loses the first one.
async fn losing(loss: Loss, later: Option<Loss>) -> RawServer {
    RawServer::start(move |mut peer| async move {
        if peer.number > 0 {
            if let Some(loss) = later {
                return loss.happen(&mut peer).await;
            }
            while peer.request().await.is_some() {
                peer.send(stream(&["a"])).await;
            }
            return;
        }
        peer.request().await;
        peer.send(stream(&["a"])).await;
        loss.happen(&mut peer).await;
    })
    .await
}

#[tokio::test]
async fn a_request_that_a_reused_connection_lost_goes_once_more_on_a_new_one() {
    for stack in STACKS {
        for loss in [Loss::Closes, Loss::Resets] {
            let server = losing(loss, None).await;
            let transport = transport(&with(stack, server.spec()));
            assert_eq!(ask(&transport).await.resent, None);
            sent_again(&ask(&transport).await, Unprocessed::Closed);
            assert_eq!((ask(&transport).await.resent, server.accepted()), (None, 2));
        }
    }
}

#[tokio::test]
async fn a_request_that_was_written_in_part_goes_once_more() {
    for stack in STACKS {
        let server = losing(Loss::ResetsMidway, None).await;
        let transport = over(&with(stack, server.spec()), Verbose);
        assert!(ask(&transport).await.is_success());
        sent_again(&ask(&transport).await, Unprocessed::Closed);
    }
}

#[tokio::test]
async fn a_request_that_was_sent_precisely_goes_once_more() {
    for loss in [Loss::Closes, Loss::Resets] {
        let server = losing(loss, None).await;
        let clock = MonotonicClock::start();
        let target = Target::new(&server.spec(), Credentials::new()).unwrap();
        let transport = HttpTransport::new(target, Echo::default(), clock);
        let transport = transport.with_precise_send().unwrap();
        assert!(ask_at(&transport, &hi(), soon(clock, 3)).await.is_success());
        let due = soon(clock, 3);
        let record = ask_at(&transport, &hi(), due).await;
        sent_again(&record, Unprocessed::Closed);
        assert!(record.resent.unwrap().first_sent.unwrap() >= due && record.scheduled == due);
    }
}

#[tokio::test]
async fn a_request_is_not_sent_for_the_third_time() {
    for stack in STACKS {
        let server = losing(Loss::Closes, Some(Loss::Closes)).await;
        let transport = transport(&with(stack, server.spec()));
        assert!(ask(&transport).await.is_success());
        let record = ask(&transport).await;
        assert_eq!((error(&record).0, server.accepted()), (ErrorKind::Connect, 2));
        assert!(record.resent.is_some() && is_new(&record), "{record:?}");
    }
}

#[tokio::test]
async fn a_request_on_a_new_connection_is_sent_once() {
    for stack in STACKS {
        let server = RawServer::start(|mut peer| async move {
            peer.request().await;
        })
        .await;
        let record = ask(&transport(&with(stack, server.spec()))).await;
        assert_eq!((error(&record).0, record.resent), (ErrorKind::Connect, None));
        assert_eq!(server.accepted(), 1);
    }
}

#[tokio::test]
async fn a_request_is_sent_once_after_one_byte_of_its_answer() {
    for stack in STACKS {
        let server = losing(Loss::Answers("H"), None).await;
        let transport = transport(&with(stack, server.spec()));
        assert!(ask(&transport).await.is_success());
        let record = ask(&transport).await;
        assert_eq!((error(&record).0, record.resent), (ErrorKind::Connect, None));
        assert_eq!(server.accepted(), 1);
    }
}

#[tokio::test]
async fn a_request_that_timed_out_is_sent_once() {
    for stack in STACKS {
        let server = losing(Loss::IsSilent, None).await;
        let hurry = Duration::from_millis(100);
        let spec = hurried(server.spec(), |limits| limits.first_byte = hurry);
        let transport = transport(&with(stack, spec));
        assert!(ask(&transport).await.is_success());
        let record = ask(&transport).await;
        assert_eq!((error(&record).0, record.resent), (ErrorKind::Timeout, None));
        assert_eq!(server.accepted(), 1);
    }
}

#[tokio::test]
async fn without_resending_the_failure_names_the_reused_connection() {
    for stack in STACKS {
        let server = losing(Loss::Closes, None).await;
        let transport = transport(&without_resending(with(stack, server.spec())));
        assert!(ask(&transport).await.is_success());
        let record = ask(&transport).await;
        let (kind, message) = error(&record);
        assert_eq!((kind, record.resent), (ErrorKind::NotProcessed, None));
        assert!(message.contains("closed the reused connection before an answer"), "{message}");
        assert_eq!(record.connection, Some(Connection::Reused));
    }
}

const TOO_LATE: &str =
    "HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

#[tokio::test]
async fn a_408_on_a_reused_connection_is_no_answer() {
    for stack in STACKS {
        let server = losing(Loss::Answers(TOO_LATE), None).await;
        let lenient = transport(&with(stack, server.spec()));
        assert!(ask(&lenient).await.is_success());
        sent_again(&ask(&lenient).await, Unprocessed::RequestTimeout);

        let server = losing(Loss::Answers(TOO_LATE), None).await;
        let strict = transport(&without_resending(with(stack, server.spec())));
        assert!(ask(&strict).await.is_success());
        let record = ask(&strict).await;
        assert_eq!(error(&record).0, ErrorKind::NotProcessed);
        assert!(error(&record).1.contains("answered 408 on the reused connection"), "{record:?}");
    }
}

#[tokio::test]
async fn a_408_on_a_new_connection_is_the_answer() {
    let server = RawServer::answering(document("408 Request Timeout", "text/plain", "slow")).await;
    let record = ask(&transport(&server.spec())).await;
    assert_eq!((error(&record).0, record.status), (ErrorKind::Status, Some(408)));
    assert_eq!(record.resent, None);
}

/// Tests what a server does to a waiting connection while the client's runtime stands still.
fn looked_at(stack: Http1Stack, unasked: &'static [u8]) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let spec =
        TargetSpec::new(format!("http://{}", listener.local_addr().unwrap()).parse().unwrap());
    let (tell_done, done) = mpsc::channel();
    let (go, going) = mpsc::channel();
    let server = std::thread::spawn(move || {
        let (mut first, _) = listener.accept().unwrap();
        answer(&mut first);
        going.recv().unwrap();
        first.write_all(unasked).unwrap();
        if unasked.is_empty() {
            drop(first);
            tell_done.send(None).unwrap();
        } else {
            tell_done.send(Some(first)).unwrap();
        }
        answer(&mut listener.accept().unwrap().0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let transport = transport(&without_resending(with(stack, spec)));
        assert!(ask(&transport).await.is_success());
        go.send(()).unwrap();
        let _open = done.recv().unwrap();
        let record = ask(&transport).await;
        assert!(record.is_success() && is_new(&record), "{stack:?} {unasked:?}: {record:?}");
    });
    server.join().unwrap();
}

fn answer(peer: &mut std::net::TcpStream) {
    let (mut buffer, mut request) = ([0; 4096], String::new());
    while !request.ends_with('}') {
        let read = peer.read(&mut buffer).unwrap();
        request.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
    }
    peer.write_all(stream(&["a"]).as_bytes()).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_connection_is_looked_at_right_before_it_is_used_again() {
    for stack in STACKS {
        looked_at(stack, b"");
        looked_at(stack, TOO_LATE.as_bytes());
    }
}

fn mock(fault: &str) -> MockServer {
    let spec = MockSpec::new(Duration::from_micros(500), Duration::from_micros(100));
    MockServer::start(spec.with_fault(fault.parse().unwrap())).unwrap()
}

/// Sends requests to a server with a fault, `lanes` at a time. Returns also whether reuse ended.
async fn send_requests(
    requests: usize,
    fault: &str,
    stack: Http1Stack,
    lanes: usize,
) -> (Vec<RequestRecord>, bool) {
    use servemark_backends::{BackendName, BackendSpec, CommonSpec};

    let server = mock(fault);
    let spec = TargetSpec::new(server.base_url().parse().unwrap());
    let backend = BackendSpec::new(BackendName::SglangOaiChat, CommonSpec::new("mock")).build();
    let transport = over(&with(stack, spec), backend);
    let each = requests.div_ceil(lanes);
    let lane = || async {
        let mut records = Vec::new();
        for _ in 0..each {
            records.push(ask(&transport).await);
        }
        records
    };
    let mut records = Vec::new();
    if lanes == 1 {
        records.extend(lane().await);
    } else {
        let (a, b, c, d) = tokio::join!(lane(), lane(), lane(), lane());
        records.extend([a, b, c, d].into_iter().flatten());
    }
    (records, transport.reuse_ended().is_some())
}

#[track_caller]
fn none_lost(records: &[RequestRecord]) {
    let lost: Vec<_> = records.iter().filter(|record| !record.is_success()).collect();
    assert!(lost.is_empty(), "{} of {}: {:?}", lost.len(), records.len(), lost[0].outcome);
}

#[tokio::test]
async fn a_server_that_closes_after_each_answer_loses_no_request_and_ends_reuse() {
    for (stack, lanes) in [(STACKS[0], 1), (STACKS[0], 4), (STACKS[1], 1), (STACKS[1], 4)] {
        let (records, has_ended) = send_requests(300, "close-after:1ms", stack, lanes).await;
        none_lost(&records);
        assert!(has_ended, "{stack:?}, {lanes} at a time");
        let last = &records[records.len() - 1];
        assert_ne!(last.connection, Some(Connection::Reused));
        // Of several at a time, all closed connections may be noticed before they are used.
        let has_resent = records.iter().any(|record| record.resent.is_some());
        assert!(has_resent || lanes > 1, "{stack:?}");
    }
}

#[tokio::test]
async fn a_server_that_closes_idle_connections_loses_no_request() {
    for fault in ["close-idle:0.05ms", "idle-408:0.05ms", "close-idle:0.2ms", "idle-408:0.2ms"] {
        for (stack, lanes) in [(STACKS[0], 1), (STACKS[0], 4), (STACKS[1], 1)] {
            none_lost(&send_requests(30, fault, stack, lanes).await.0);
        }
    }
}

#[tokio::test]
async fn without_reuse_the_next_connection_is_opened_while_a_request_is_answered() {
    let server = RawServer::answering(stream(&["a"])).await;
    let mut spec = server.spec();
    spec.reuse.keep_alive = false;
    let transport = transport(&spec);
    assert!(is_new(&ask(&transport).await));
    while server.accepted() < 2 {
        tokio::task::yield_now().await;
    }
    // The connection is back in the pool after a few turns of the runtime.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(ask(&transport).await.connection, Some(Connection::Ahead));
    assert!(ask(&transport).await.connection != Some(Connection::Reused));
}

#[tokio::test]
async fn stamps_of_a_second_sending_are_in_order() {
    let server = losing(Loss::Closes, None).await;
    let clock = MonotonicClock::start();
    let target = Target::new(&server.spec(), Credentials::new()).unwrap();
    let transport = HttpTransport::new(target, Echo::default(), clock);
    assert!(ask_at(&transport, &hi(), Stamp::ZERO).await.is_success());
    let record = ask_at(&transport, &hi(), clock.now()).await;
    let first = record.resent.unwrap().first_sent;
    let life = [Some(record.scheduled), first, record.sent, record.headers, record.first_byte];
    assert!(life.is_sorted(), "{life:?}");
}
