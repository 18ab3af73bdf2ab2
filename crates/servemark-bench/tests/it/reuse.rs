//! Complete runs against servers that announce keep-alive and close the connection.

use std::num::NonZeroUsize;
use std::sync::Arc;

use servemark::backends::BackendName;
use servemark::core::NoProgress;
use servemark::plan::{BenchPlan, Layout};
use servemark::{Run, RunContext, Scores, execute};

use crate::runs;

/// A plan of thirty requests to the simulator with a fault, at most `limit` in flight.
fn plan(fault: &str, limit: usize) -> BenchPlan {
    let mut plan = runs::plan(BackendName::SglangOaiChat, &[fault]);
    plan.workload.requests = 30;
    plan.load.max_concurrency = NonZeroUsize::new(limit);
    plan.scoring.layouts = vec![Layout::Native];
    plan
}

fn run(plan: &BenchPlan) -> Run {
    execute(plan, &RunContext::new(Arc::new(NoProgress))).unwrap()
}

fn table(run: &Run, plan: &BenchPlan) -> String {
    let mut out = Vec::new();
    Scores::of_run(run, &plan.scoring).write_tables(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_server_that_closes_after_each_answer_loses_none_of_thirty_requests() {
    for limit in [1, 4] {
        let plan = plan("close-after:0.5ms", limit);
        let run = run(&plan);
        let failed: Vec<_> = run.log.measured().filter(|record| !record.is_success()).collect();
        assert!(
            failed.is_empty(),
            "{} at {limit} in flight: {:?}",
            failed.len(),
            failed[0].outcome
        );
        assert_eq!(run.log.measured().count(), 30);
        assert!(run.log.footer().unwrap().reuse_ended.is_some());
        let table = table(&run, &plan);
        let note = "the server closes connections after each answer although it announces";
        assert_eq!(table.matches(note).count(), 1, "{table}");
        assert_eq!(table.contains("sent once more"), run.audit.resending.total() > 0, "{table}");
    }
}

#[test]
fn an_unasked_408_and_a_closed_idle_connection_lose_no_request() {
    for fault in ["idle-408:0.1ms", "close-idle:0.1ms"] {
        for limit in [1, 4] {
            let run = run(&plan(fault, limit));
            let lost: Vec<_> = run.log.measured().filter(|record| !record.is_success()).collect();
            assert!(lost.is_empty(), "{fault} at {limit}: {:?}", lost[0].outcome);
        }
    }
}

#[test]
fn a_log_from_before_requests_went_once_more_is_read() {
    let run = run(&plan("close-idle:100s", 1));
    let record = run.log.measured().next().unwrap();
    let text = serde_json::to_string(record).unwrap();
    assert!(!text.contains("resent"), "{text}");
    let read: servemark::core::RequestRecord = serde_json::from_str(&text).unwrap();
    assert_eq!((read.resent, read.outcome.is_ok()), (None, true));
}
