//! Runs of an engine without a server, which stamps its own answers.

use servemark_core::{ArrivalClock, EngineFacts};
use servemark_metrics::Verdict;

use super::{Request, Run, shard};

/// Returns a run of an engine whose client is late with every read.
fn run(change: impl Fn(&mut Request)) -> Run {
    let mut run = Run::with_each(|request| {
        (request.clock, request.segments) = (ArrivalClock::Engine, None);
        request.pieces.iter_mut().for_each(|(_, lag)| *lag = 9_000);
        change(request);
    });
    run.engine = Some(EngineFacts::new("candle", "0.9.1"));
    run.cost.as_mut().unwrap().cpu_ns = 100_000_000;
    run
}

#[test]
fn how_late_the_client_sees_an_answer_is_in_no_latency() {
    let audit = run(|_| {}).audit();
    let expected = "clean: load carried, latencies right: the engine stamps its own answers, so the \
                    client is in no latency";
    assert_eq!(audit.to_string(), expected);
    assert_eq!(audit.reading.lag.p99_us, Some(9_000.0));
    assert_eq!(audit.unchecked, [""; 0]);
    insta::assert_snapshot!(audit.inapplicable.join("\n"), @r"
    the client's lag, and pieces that were queued unread: the engine stamps its own answers
    the network: there is no connection
    ");
}

#[test]
fn tokens_of_one_step_have_not_lain_unread() {
    let audit = run(|request| request.pieces = vec![(20_000, 9_000); 4]).audit();
    assert_eq!((audit.verdict, audit.reading.shared.elsewhere), (Verdict::Clean, 3_000));
}

#[test]
fn a_client_that_takes_the_cores_of_its_engine_is_suspect() {
    let mut crowded = run(|_| {});
    crowded.cost.as_mut().unwrap().cpu_ns = 1_999_000_000;
    crowded.is(Verdict::Clean, "the engine stamps");
    crowded.cost.as_mut().unwrap().cpu_ns = 2_000_000_000;
    let reason = "the client took 5.0 % of this machine's cores, which the engine is on";
    crowded.is(Verdict::Suspect, reason);
}

#[test]
fn a_client_that_cannot_do_its_work_is_limited_with_any_clock() {
    let mut busy = run(|_| {});
    busy.cost.as_mut().unwrap().shards = vec![shard(96, 0)];
    busy.is(Verdict::ClientLimited, "shard 1 ran for 96.0 % of the time");
}

#[test]
fn requests_of_a_schedule_are_late_and_those_of_a_batch_wait_for_the_others() {
    let sent_late = |request: &mut Request| request.sent = request.granted + 2_000;
    run(sent_late).is(Verdict::Corrected, "100.0 % of the sends were more than 1.00 ms late");
    let mut batches = run(|request| {
        sent_late(request);
        request.due = 1_000_000;
    });
    batches.facts.max_concurrency = Some(1);
    let audit = batches.audit();
    assert_eq!((audit.verdict, audit.sending.judged), (Verdict::Clean, 0));
    assert_eq!(audit.unchecked, ["late sends: all were due at once"]);
}

#[test]
fn an_engine_that_answers_nothing_is_not_clean() {
    run(|request| (request.fails, request.pieces) = (true, Vec::new()))
        .is(Verdict::Suspect, "no request succeeded");
}

#[test]
fn what_the_hypervisor_took_it_took_of_the_engine() {
    let mut stolen = run(|_| {});
    stolen.cost.as_mut().unwrap().steal_ns = Some(4_000_000_000);
    stolen.is(Verdict::Suspect, "took 10.0 % of the machine's time, the engine's included");
}
