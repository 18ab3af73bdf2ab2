//! The scripted engine: the records of a run, and the effects of its faults.

use std::num::NonZeroUsize;
use std::time::Duration;

use servemark_core::{ErrorKind, RequestRecord, Weights};
use servemark_engine::{
    Engine, EngineError, EngineRunSpec, EngineSpec, Fault, ScriptedSpec, Submission,
};

use crate::stage::{block_on, run};

fn script(fault: Option<Fault>) -> EngineRunSpec {
    let script = ScriptedSpec { slots: NonZeroUsize::new(2).unwrap(), fault };
    EngineRunSpec::new(EngineSpec::Scripted(script))
}

fn kinds(records: &[RequestRecord]) -> Vec<Option<ErrorKind>> {
    let kind = |record: &RequestRecord| record.outcome.as_ref().err().map(|error| error.kind);
    records.iter().map(kind).collect()
}

#[test]
fn every_token_has_its_stamp_and_its_text() {
    for submission in [Submission::AtOnce, Submission::OneByOne] {
        let mut spec = script(None);
        spec.submission = submission;
        let records = run(&spec, &["a", "hello", "x"]).unwrap();
        let texts: Vec<_> = records.iter().map(|record| record.text.as_str()).collect();
        assert_eq!(texts, ["bcd", "pqr", "yz{"]);
        for record in &records {
            let usage = record.usage.unwrap();
            assert_eq!(usage.prompt_tokens, Some(record.planned.prompt_tokens));
            assert_eq!((usage.completion_tokens, record.deltas.len()), (Some(3), 3));
            assert_eq!(record.outcome.as_ref().unwrap().reason.as_deref(), Some("length"));
            assert!(record.sent.unwrap() <= record.deltas.first_at().unwrap());
            assert_eq!(record.deltas.last_at(), record.pieces().last().map(|(row, _)| row.at));
            assert!(record.deltas.last_at().unwrap() <= record.ended);
        }
    }
}

#[test]
fn requests_of_one_call_were_given_at_one_instant() {
    let records = run(&script(None), &["a", "b", "c", "d"]).unwrap();
    assert!(records.iter().all(|record| record.sent == records[0].sent));
}

#[test]
fn what_was_finished_before_a_crash_stays_finished() {
    let records = run(&script(Some(Fault::CrashAfter(2))), &["a", "b", "c", "d"]).unwrap();
    let cut = Some(ErrorKind::Truncated);
    assert_eq!(kinds(&records), [None, None, cut, cut]);
    assert_eq!(
        records[3].outcome.as_ref().unwrap_err().message,
        "the engine ended: its script ends"
    );
}

#[test]
fn an_engine_that_is_silent_for_too_long_is_given_up() {
    let mut spec = script(Some(Fault::HangAfter(2)));
    spec.patience = Duration::from_millis(50);
    let records = run(&spec, &["a", "b", "c"]).unwrap();
    assert_eq!(kinds(&records), [None, None, Some(ErrorKind::Timeout)]);
}

#[test]
fn a_refused_request_costs_no_other() {
    let records = run(&script(Some(Fault::RefuseBeyond(2))), &["a", "too long", "b"]).unwrap();
    assert_eq!(kinds(&records), [None, Some(ErrorKind::Status), None]);
}

#[test]
fn an_engine_that_does_not_load_says_why() {
    let error = run(&script(Some(Fault::NoLoad)), &["a"]).unwrap_err();
    assert!(matches!(error, EngineError::Load { .. }));
    let message = "the engine scripted could not be loaded: its script says so";
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_loaded_engine_says_what_it_is() {
    block_on(async {
        let clock = servemark_core::MonotonicClock::start();
        let engine = Engine::start(&script(None), clock).await.unwrap();
        let facts = engine.facts();
        assert_eq!((facts.name.as_str(), facts.weights), ("scripted", Weights::Dummy));
        assert_eq!(facts.batch_policy, "continuous, 2 at once");
        assert!(facts.load_ns > 0);
    });
}
