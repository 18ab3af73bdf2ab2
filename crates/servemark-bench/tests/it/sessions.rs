//! Sessions of several turns over HTTP: the bodies are equal to the peer's.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use servemark::backends::{BackendName, BackendSpec, CommonSpec};
use servemark::client::{Credentials, HttpTransport, Target, TargetSpec};
use servemark::core::{FollowUp, JsonObject, MonotonicClock, RequestRecord, Sample, Session};
use servemark::mock::{MockServer, MockSpec};
use servemark::pacer::SystemPacer;
use servemark::runner::{Collector, LoadSpec, Runner, StopHandle};
use servemark::schedule::{ArrivalSpec, Schedule};

/// Returns the bodies of a recorded run without the warm-up, for which the peer uses a complete
/// conversation.
fn recorded(name: &str) -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sglang/bodies");
    let file: Value =
        serde_json::from_slice(&fs::read(format!("{folder}/{name}.json")).unwrap()).unwrap();
    let requests = file["requests"].as_array().unwrap().iter();
    let bodies: Vec<Value> =
        requests.map(|request| request["body"].clone()).filter(Value::is_object).collect();
    bodies[3..].to_vec()
}

/// Returns the session whose turns were recorded, with the recorded answers.
fn session(bodies: &[Value]) -> Session {
    let turn = |body: &Value| {
        let last = body["messages"].as_array().unwrap().last().unwrap();
        Sample::new(last["content"].as_str().unwrap(), 10, 6)
    };
    Session::from(turn(&bodies[0]))
        .followed_by(bodies[1..].iter().map(|body| FollowUp::new(turn(body))).collect())
}

/// Returns the recorded body with the test server's answers instead of the peer's.
fn answered(body: &Value, records: &[RequestRecord]) -> String {
    let mut body = body.clone();
    let messages = body["messages"].as_array_mut().unwrap();
    let answers = messages.iter_mut().filter(|message| message["role"] == "assistant");
    for (message, record) in answers.zip(records) {
        assert_eq!(message["content"], "one two three");
        message["content"] = json!(record.text);
    }
    body.to_string()
}

fn measure(server: &MockServer, wire: &BackendSpec, sessions: Vec<Session>) -> Vec<RequestRecord> {
    let clock = MonotonicClock::start();
    let spec = TargetSpec::new(server.base_url().parse().unwrap());
    let target = Target::new(&spec, Credentials::new()).unwrap();
    let transport = Arc::new(HttpTransport::new(target, wire.build(), clock));
    let (records, stop) = (Arc::new(Collector::default()), StopHandle::new());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let load = LoadSpec::new(ArrivalSpec::Burst);
        let pacer = SystemPacer::new(clock).unwrap();
        let runner = Runner::new(pacer, &load, records.clone(), stop.signal());
        let schedule = Schedule::burst(sessions.len());
        runner.measure(&transport, &sessions.into(), &schedule).await
    });
    let mut records = records.take();
    records.sort_by_key(RequestRecord::key);
    records
}

#[track_caller]
fn check(name: &str, backend: BackendName, set: impl FnOnce(&mut CommonSpec)) {
    let mut mock = MockSpec::new(Duration::from_millis(1), Duration::ZERO);
    mock.keep_requests = 10;
    let server = MockServer::start(mock).unwrap();
    let mut common = CommonSpec::new("tokenizers/gpt2");
    set(&mut common);
    let wire = BackendSpec::new(backend, common).with_usage();
    let bodies = &recorded(name)[..3];
    let records = measure(&server, &wire, vec![session(bodies)]);
    assert!(records.iter().all(RequestRecord::is_success), "{records:?}");
    let expected: Vec<String> = bodies.iter().map(|body| answered(body, &records)).collect();
    let received = server.requests();
    let sent: Vec<_> =
        received.iter().map(|request| String::from_utf8_lossy(&request.body)).collect();
    assert_eq!(sent, expected);
    let prompt_tokens_of = |record: &RequestRecord| record.usage.unwrap().prompt_tokens.unwrap();
    assert!(records.windows(2).all(|pair| prompt_tokens_of(&pair[0]) < prompt_tokens_of(&pair[1])));
}

#[test]
fn turns_are_asked_as_the_peer_asks_them() {
    check("multi_turn_sglang-oai-chat", BackendName::SglangOaiChat, |_| {});
    check("multi_turn_no_stream_vllm-chat", BackendName::VllmChat, |common| common.stream = false);
    check("multi_turn_stream_options_vllm-chat", BackendName::VllmChat, |common| {
        let options: JsonObject = serde_json::from_str(r#"{"stream_options":{"x":1}}"#).unwrap();
        common.extra_body = options;
    });
}
