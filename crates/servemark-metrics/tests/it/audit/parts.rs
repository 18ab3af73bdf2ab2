//! The two parts of the verdict: whether the load was carried, and how accurate the latencies are.

use servemark_metrics::{AccuracyVerdict, ComparedSide, Comparison, Doubt, LoadVerdict};

use super::*;

#[track_caller]
fn parts(run: &Run, verdict: Verdict, load: LoadVerdict, latencies: AccuracyVerdict) -> Audit {
    let audit = run.audit();
    let found = (audit.verdict, audit.load.verdict, audit.latencies.verdict);
    assert_eq!(found, (verdict, load, latencies), "{audit}");
    audit
}

/// Returns a run beside a process that always wants the client's core: the client waits 3 ms for
/// its core before every other send and read.
fn beside_a_hog(clock: ArrivalClock) -> Run {
    let mut run = Run::with_each(|request| {
        request.clock = clock;
        if request.due % 20_000 == 0 {
            request.sent = request.due + 3_000;
            request.pieces.iter_mut().for_each(|(_, lag)| *lag = 3_000);
        }
        if clock == ArrivalClock::User {
            // With its own clock the client stamps late and cannot know it.
            request.pieces.iter_mut().for_each(|(after, lag)| (*after, *lag) = (*after + *lag, 0));
            request.end_lag = 0;
        }
    });
    run.cost.as_mut().unwrap().shards = vec![shard(20, 77)];
    run
}

#[test]
fn on_an_idle_machine_the_load_is_carried_and_latencies_are_right() {
    let audit = parts(&Run::clean(), Verdict::Clean, LoadVerdict::Carried, AccuracyVerdict::Exact);
    assert_eq!(audit.latencies.right_to_us, Some(30.0));
    assert_eq!(audit.latencies.core_was_shared, Some(false));
    assert_eq!(audit.load.reasons, []);
    assert!(audit.is_comparable());
}

#[test]
fn beside_a_hog_with_kernel_stamps_latencies_are_right_and_the_load_is_strained() {
    let run = beside_a_hog(ArrivalClock::Kernel);
    let audit = parts(&run, Verdict::Corrected, LoadVerdict::Strained, AccuracyVerdict::Corrected);
    assert_eq!(audit.latencies.right_to_us, Some(30.0));
    let head =
        "corrected: load strained, latencies right to 0.03 ms although the core was shared: ";
    assert!(audit.to_string().starts_with(head), "{audit}");
    assert!(audit.is_comparable() && audit.keeps_up());
}

#[test]
fn beside_a_hog_without_kernel_stamps_the_latencies_are_in_doubt() {
    let run = beside_a_hog(ArrivalClock::User);
    let audit = parts(&run, Verdict::Suspect, LoadVerdict::Strained, AccuracyVerdict::Uncertain);
    assert_eq!(audit.latencies.right_to_us, None);
    assert!(audit.to_string().starts_with("suspect: load strained, latencies in doubt: "));
    assert!(audit.keeps_up() && !audit.is_comparable());
}

#[test]
fn a_client_with_more_to_do_than_it_can_sends_late_and_is_limited() {
    let mut run = Run::with_each(|request| {
        // The client takes 11 ms for each request, and one is due every 10 ms.
        request.sent = request.due + (request.due - 1_000_000) / 10;
    });
    run.cost.as_mut().unwrap().shards = vec![shard(99, 0)];
    let limited = (Verdict::ClientLimited, LoadVerdict::ClientLimited);
    let audit = parts(&run, limited.0, limited.1, AccuracyVerdict::Exact);
    let expected =
        ["it sent 90.9", "of the sends were more than 10.00 ms", "shard 1 ran for 99.0 %"];
    for (reason, expected) in audit.load.reasons.iter().zip(expected) {
        assert!(reason.reason.contains(expected), "{reason:?}");
    }
    assert_eq!(audit.load.reasons.len(), 3, "{audit}");
    assert!(!audit.is_comparable() && !audit.keeps_up());
}

#[test]
fn a_thread_that_often_loses_its_core_while_it_sends_stamps_requests_too_early() {
    let displaced = |times: u64| {
        let mut run = Run::clean();
        let cost = &mut run.cost.as_mut().unwrap().shards;
        *cost = vec![shard(20, 60)];
        cost[0].involuntary_switches = times;
        run.audit()
    };
    // Two seconds of CPU time: a thousand switches in one second of it hit one send in a hundred.
    assert_eq!(displaced(1_999).latencies.right_to_us, Some(30.0));
    let audit = displaced(2_000);
    assert_eq!(audit.latencies.right_to_us, Some(3_030.0));
    assert_eq!(audit.verdict, Verdict::Suspect, "{audit}");
    assert!(audit.to_string().contains("stamps right to 3.03 ms"), "{audit}");
}

#[test]
fn both_parts_are_in_the_document() {
    let document = serde_json::to_value(beside_a_hog(ArrivalClock::Kernel).audit()).unwrap();
    assert_eq!(document["verdict"], "corrected");
    assert_eq!(document["load"]["verdict"], "strained");
    assert_eq!(document["latencies"]["verdict"], "corrected");
    assert_eq!(document["latencies"]["right_to_us"], 30.0);
    assert_eq!(document["latencies"]["core_was_shared"], true);
    assert!(document["load"]["reasons"][0]["reason"].as_str().unwrap().contains("late"));
}

#[test]
fn runs_that_the_clients_own_clock_timed_are_compared_with_each_other() {
    let timed_by = |clock| {
        let mut run = Run::with_each(|request| request.clock = clock);
        run.cost = None;
        run.audit()
    };
    let [user, kernel] = [ArrivalClock::User, ArrivalClock::Kernel].map(timed_by);
    let compared = |before: &Audit, after: &Audit| {
        let before = Doubt::of(ComparedSide::Before, before);
        let doubts = before.into_iter().chain(Doubt::of(ComparedSide::After, after));
        Comparison::of(&[], |_| None, |_| None).with_doubts(doubts).is_judged
    };
    assert!(compared(&user, &user));
    // The lag of the client is on one side only.
    assert!(!compared(&user, &kernel));
    // A client that had to wait for its core timed the answers late by an unknown time.
    assert!(!compared(&user, &beside_a_hog(ArrivalClock::User).audit()));
}
