//! The ground-truth server: every dialect, and the record of every fault.

use std::time::Duration;

use servemark_backends::{BackendName, BackendSpec, CommonSpec, WireBackend};
use servemark_client::{Credentials, HttpTransport, ServerControl, Target, TargetSpec};
use servemark_core::{ErrorKind, MonotonicClock, RequestRecord, Sample};
use servemark_mock::{MockServer, MockSpec};

use crate::support::{ask_for, error, hurried, over};

const TOKENS: u32 = 6;

fn start(faults: &[&str]) -> MockServer {
    let quick = MockSpec::new(Duration::from_millis(2), Duration::from_micros(200));
    let spec = faults.iter().fold(quick, |spec, fault| spec.with_fault(fault.parse().unwrap()));
    MockServer::start(spec).unwrap()
}

fn target(server: &MockServer) -> TargetSpec {
    TargetSpec::new(server.base_url().parse().unwrap())
}

fn transport(server: &MockServer, name: BackendName) -> HttpTransport<WireBackend> {
    let spec = hurried(target(server), |limits| limits.idle = Duration::from_millis(200));
    over(&spec, BackendSpec::new(name, CommonSpec::new("mock")).build())
}

async fn ask(transport: &HttpTransport<WireBackend>) -> RequestRecord {
    ask_for(transport, &Sample::new("hi", 1, TOKENS)).await
}

async fn answers(name: BackendName) {
    let server = start(&[]);
    let record = ask(&transport(&server, name)).await;
    assert!(record.is_success(), "{record:?}");
    assert_eq!(record.deltas.len(), TOKENS as usize);
    let at = record.deltas.rows().map(|row| row.at);
    let first = [record.sent, record.headers, record.first_byte].map(Option::unwrap);
    let life: Vec<_> = first.into_iter().chain(at).chain([record.ended]).collect();
    assert!(life.is_sorted(), "{life:?}");
    let ttft = record.deltas.first_at().unwrap().since(record.sent.unwrap());
    assert!(ttft >= Duration::from_millis(2), "{ttft:?}");
}

#[tokio::test]
async fn generate() {
    answers(BackendName::Sglang).await;
}

#[tokio::test]
async fn completions() {
    answers(BackendName::SglangOai).await;
}

#[tokio::test]
async fn chat() {
    answers(BackendName::SglangOaiChat).await;
}

#[tokio::test]
async fn ollama_texts_and_chats() {
    answers(BackendName::Ollama).await;
    answers(BackendName::OllamaChat).await;
}

#[tokio::test]
async fn anthropics_messages() {
    answers(BackendName::Anthropic).await;
}

/// Checks the record of a fault in every dialect, and that the next request succeeds.
async fn fails(fault: &str, kind: ErrorKind) {
    for name in [BackendName::Sglang, BackendName::SglangOai, BackendName::SglangOaiChat] {
        let server = start(&[&format!("{fault}/2")]);
        let transport = transport(&server, name);
        assert!(ask(&transport).await.is_success(), "{fault} {name:?}");
        let record = ask(&transport).await;
        assert_eq!(error(&record).0, kind, "{fault} {name:?}: {record:?}");
        assert!(ask(&transport).await.is_success(), "{fault} {name:?}");
    }
}

/// Checks that a fault does not fail a request.
async fn survives(fault: &str) {
    for name in [BackendName::Sglang, BackendName::SglangOai, BackendName::SglangOaiChat] {
        let server = start(&[fault]);
        let record = ask(&transport(&server, name)).await;
        assert!(record.is_success(), "{fault} {name:?}: {record:?}");
        assert_eq!(record.deltas.len(), TOKENS as usize, "{fault} {name:?}");
    }
}

#[tokio::test]
async fn a_status() {
    fails("status:503", ErrorKind::Status).await;
}

#[tokio::test]
async fn a_cut_stream() {
    fails("cut@3", ErrorKind::Truncated).await;
}

#[tokio::test]
async fn a_stalled_stream() {
    fails("stall@3", ErrorKind::Timeout).await;
}

#[tokio::test]
async fn a_bad_frame() {
    fails("bad-frame@3", ErrorKind::Decode).await;
}

#[tokio::test]
async fn an_error_in_the_stream() {
    for shape in ["object", "string", "flat"] {
        fails(&format!("error@3:{shape}"), ErrorKind::InStream).await;
    }
}

#[tokio::test]
async fn an_empty_answer() {
    fails("empty", ErrorKind::Empty).await;
}

#[tokio::test]
async fn an_answer_that_is_only_its_end() {
    fails("only-done", ErrorKind::Empty).await;
}

#[tokio::test]
async fn a_reset_connection() {
    let server = start(&["reset"]);
    let record = ask(&transport(&server, BackendName::Sglang)).await;
    assert_eq!(error(&record).0, ErrorKind::Connect);
}

#[tokio::test]
async fn odd_streams() {
    for fault in ["no-done", "split:7", "crlf", "comments", "merge:3", "close-delimited"] {
        survives(fault).await;
    }
}

#[tokio::test]
async fn a_server_that_is_not_ready_yet() {
    let server = start(&["not-ready:20ms"]);
    let target = Target::new(&target(&server), Credentials::new()).unwrap();
    let control = ServerControl::new(target, MonotonicClock::start());
    control.wait_ready("/v1/models", Duration::from_millis(100)).await.unwrap();
    assert_eq!(control.models().await.unwrap(), ["mock"]);
}
