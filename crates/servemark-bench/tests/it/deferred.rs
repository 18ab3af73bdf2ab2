//! Dialects that work outside the measured path.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use servemark::backends::{DeferredBackend, RawAnswer, WireRequest};
use servemark::core::{
    Delta, ErrorKind, FollowUp, Phase, Recorder, RequestError, RequestRecord, Sample, Session,
    Sink, Usage,
};
use servemark::mock::{MockServer, MockSpec};
use servemark::plan::ServerSpec;
use servemark::runner::{History, LoadSpec, RetrySpec, WarmupSpec};
use servemark::schedule::{ArrivalSpec, Rate};
use servemark::{Bench, ExecuteError, ExitCode, Parts, Run, RunObserver, Scores};

use crate::listener::Warnings;

/// A chat dialect, which fails where its text or its prompt says so.
struct Chat {
    server: Arc<MockServer>,
    refused: Option<&'static str>,
}

impl DeferredBackend for Chat {
    fn encode(&self, sample: &Sample, model: &str) -> Result<WireRequest, RequestError> {
        assert!(self.server.requests().is_empty(), "a request was sent before all were encoded");
        let text = sample.prompt.text().unwrap_or_default();
        if self.refused.is_some_and(|refused| text.contains(refused)) {
            return Err(RequestError::new(ErrorKind::Encode, "I know no such thing"));
        }
        let messages = json!([{"role": "user", "content": text}]);
        let body = json!({
            "model": model, "messages": messages, "stream": true, "ignore_eos": true,
            "max_tokens": sample.output_tokens, "stream_options": {"include_usage": true},
        });
        let mut request = WireRequest::json("/v1/chat/completions", &body)?;
        request.headers.insert("x-own", "yes".parse().unwrap());
        Ok(request)
    }

    fn decode(&self, answer: RawAnswer<'_>, out: &mut Recorder) -> Result<(), RequestError> {
        assert_eq!(thread::current().name(), Some("run-log"), "no thread that sends or reads");
        for frame in answer.frames().filter(|frame| frame.data != "[DONE]") {
            let data: Value = serde_json::from_str(frame.data)
                .map_err(|error| RequestError::new(ErrorKind::Decode, error.to_string()))?;
            let mut out = out.at(frame.arrival);
            if let Some(text) = data["choices"][0]["delta"]["content"].as_str()
                && !text.is_empty()
            {
                out.delta(Delta::content(text).with_tokens(Some(1)));
            }
            if let Some(tokens) = data["usage"]["completion_tokens"].as_u64() {
                out.usage(Usage::new(None, u32::try_from(tokens).ok()));
            }
        }
        match out.pieces() {
            6 => Err(RequestError::new(ErrorKind::InStream, "six")),
            7 => Err(RequestError::new(ErrorKind::Decode, "seven, key sk-abcdef")),
            _ => Ok(()),
        }
    }
}

fn server() -> Arc<MockServer> {
    let mut spec = MockSpec::new(Duration::from_millis(40), Duration::from_millis(4));
    spec.keep_requests = 1000;
    Arc::new(MockServer::start(spec).unwrap())
}

fn bench(server: &Arc<MockServer>, refused: Option<&'static str>, sessions: Vec<Session>) -> Bench {
    let (target, count) = (server.base_url().parse().unwrap(), sessions.len());
    let chat = Chat { server: Arc::clone(server), refused };
    let mut load = LoadSpec::new(ArrivalSpec::Burst);
    load.warmup = WarmupSpec { requests: 2, most_output_tokens: 3, alike: false, stride: None };
    Bench::deferred(target, ("own-chat", chat), ("questions", sessions), count, load)
}

fn session(text: &str, output_tokens: u32) -> Session {
    Session::from(Sample::new(text, 2, output_tokens))
}

fn bodies(server: &MockServer) -> Vec<Value> {
    let requests = server.requests().into_iter();
    requests.map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
}

#[test]
fn all_requests_are_encoded_before_the_first_is_sent() {
    let server = server();
    let sessions = (0..20).map(|index| session(&format!("question {index}"), 5)).collect();
    let bench = bench(&server, None, sessions);
    let run = bench.run().unwrap();
    assert!(run.log.records().iter().all(RequestRecord::is_success), "{:?}", run.log.records());
    let lengths: Vec<_> =
        bodies(&server).iter().map(|body| body["max_tokens"].as_u64().unwrap()).collect();
    assert_eq!((&lengths[..2], &lengths[2..]), (&[3, 3][..], &[5; 20][..]), "warm-up comes first");
    assert!(
        server.requests().iter().all(|request| request.headers.iter().any(|it| it.0 == "x-own"))
    );
    for record in run.log.measured() {
        assert_eq!(record.deltas.len(), 5);
        let first = record.deltas.first_at().unwrap().since(record.started());
        assert!(first >= Duration::from_millis(40), "{first:?}");
        let last = record.deltas.last_at().unwrap().since(record.started());
        assert!(last >= Duration::from_millis(40 + 4 * 4), "{last:?}");
        assert_eq!(record.usage.unwrap().completion_tokens, Some(5));
        let sent = run.sent.as_ref().unwrap().bodies(&run.log).body(record).unwrap();
        assert!(bodies(&server).contains(&serde_json::from_slice(&sent).unwrap()));
    }
    assert_eq!(run.log.header().plan["wire"]["deferred"], true);
    assert_eq!(Scores::of(&run.log, &bench.plan.scoring).exit_code(), ExitCode::Ok);
}

#[test]
fn an_answer_that_cannot_be_decoded_is_a_failed_request() {
    let server = server();
    let sessions = [5, 7, 6, 7].map(|tokens| session("question", tokens)).into();
    let mut bench = bench(&server, None, sessions);
    let warnings = Arc::new(Warnings::default());
    bench.context.observer = Arc::clone(&warnings) as Arc<dyn RunObserver>;
    bench.context.credentials = bench.context.credentials.clone().bearer("sk-abcdef").unwrap();
    let Run { log, .. } = bench.run().unwrap();
    let outcomes = log.measured().filter_map(|record| record.outcome.clone().err());
    let mut failed: Vec<_> = outcomes.map(|error| error.to_string()).collect();
    failed.sort();
    assert_eq!(
        failed,
        ["decode: seven, key ***", "decode: seven, key ***", "in-stream error: six"]
    );
    assert_eq!((bench.context.live.finished(), bench.context.live.failed()), (4, 3));
    let told = warnings.0.lock().unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("Could not decode an answer: request "), "{told:?}");
    assert!(told[0].contains(": seven, key ***"), "{told:?}");
}

#[test]
fn a_request_that_cannot_be_encoded_ends_the_run_before_it_starts() {
    let server = server();
    let sessions = ["one", "two", "three"].map(|text| session(text, 5)).into();
    let error = bench(&server, Some("three"), sessions).run().unwrap_err();
    assert_eq!(error.to_string(), "request 2 cannot be encoded: I know no such thing");
    assert_eq!(error.exit_code(), ExitCode::Usage);
    assert!(server.requests().is_empty());
}

fn conversation() -> Vec<Session> {
    let follow_up = |text: &str| FollowUp::new(Sample::new(text, 2, 5));
    vec![session("first", 5).followed_by(vec![follow_up("second"), follow_up("third")])]
}

#[test]
fn turns_that_repeat_answers_are_refused_and_other_turns_are_sent() {
    let server = server();
    let error = bench(&server, None, conversation()).run().unwrap_err();
    assert!(error.to_string().contains("`load.sessions.history`"), "{error}");
    assert!(server.requests().is_empty());
    let mut bench = bench(&server, None, conversation());
    bench.plan.load.sessions.history = History::Left;
    let run = bench.run().unwrap();
    assert!(run.log.records().iter().all(RequestRecord::is_success), "{:?}", run.log.records());
    let mut sent: Vec<_> = bodies(&server)
        .iter()
        .map(|body| format!("{} {}", body["messages"][0]["content"], body["max_tokens"]))
        .collect();
    assert_eq!(sent.split_off(6), [r#""first" 5"#, r#""second" 5"#, r#""third" 5"#]);
    sent.sort();
    sent.dedup();
    assert_eq!(sent, [r#""first" 3"#, r#""second" 3"#, r#""third" 3"#], "the warm-up");
    let turns: Vec<_> = run.log.measured().map(|record| record.turn).collect();
    assert_eq!(turns, [0, 1, 2]);
    let warm_ups = run.log.records().iter().filter(|record| record.phase == Phase::Warmup);
    assert_eq!(warm_ups.count(), 6);
}

#[test]
fn a_prompt_with_several_answers_is_refused() {
    let server = server();
    let ids =
        Session::from(Sample::new(servemark::core::Prompt::Batch(vec![vec![1], vec![2]]), 2, 5));
    let error = bench(&server, None, vec![ids]).run().unwrap_err();
    assert!(matches!(error, ExecuteError::Encode { index: 0, .. }), "{error}");
}

#[track_caller]
fn check_refused(key: &str, set: impl FnOnce(&mut Bench)) {
    let server = server();
    let mut bench = bench(&server, None, vec![session("question", 5)]);
    set(&mut bench);
    let error = bench.run().unwrap_err();
    assert!(matches!(error, ExecuteError::Plan(_)), "{error:?}");
    assert!(error.to_string().contains(key), "{error}");
    assert!(server.requests().is_empty());
}

#[test]
fn what_a_deferred_dialect_cannot_do_is_refused() {
    let own = ServerSpec::Provided { name: "own".to_owned() };
    check_refused("over HTTP", |bench| bench.plan.server = own);
    let retry = RetrySpec::of_unanswered(2.try_into().unwrap());
    check_refused("`load.retry`", |bench| bench.plan.load.retry = Some(retry));
    check_refused("`load.probes`", |bench| bench.plan.load.probes = Rate::new(1.0).ok());
    let patience = Duration::from_secs(1);
    check_refused("`control.greeting`", |bench| bench.plan.control.greeting = Some(patience));
    check_refused("`control.align_prompts`", |bench| bench.plan.control.align_prompts = true);
    check_refused("`control.server_times`", |bench| bench.plan.control.server_times = true);
    let prompts = 2.try_into().ok();
    check_refused("`control.cache_audit`", |bench| bench.plan.control.cache_audit = prompts);
}

#[test]
fn a_dialect_that_is_not_supplied_is_named() {
    let server = server();
    let mut bench = bench(&server, None, vec![session("question", 5)]);
    bench.context.parts = Parts::default();
    let questions = vec![session("question", 5)];
    bench.context.parts.add_dataset("questions", questions);
    let error = bench.run().unwrap_err();
    assert!(error.to_string().contains("dialect own-chat"), "{error}");
}
