//! The schedule, the gate, and how the client kept to them.

use super::*;

#[test]
fn a_client_that_falls_behind_its_schedule_is_the_limit() {
    let slower = |percent: u64| {
        Run::with_each(move |request| {
            request.sent += (request.due - 1_000_000) * percent / 100;
        })
    };
    slower(1).is(Verdict::ClientLimited, "late");
    slower(2).is(Verdict::ClientLimited, "it sent 98.0 requests/s where 100.0 were due");
    let sending = slower(2).audit().sending;
    assert_eq!(sending.offered_per_s, Some(100.0));
    assert!((sending.behind_us - 199_800.0).abs() < 1.0, "{sending:?}");
}

#[test]
fn a_few_time_slices_are_no_limit() {
    let last_late = |late: u64| {
        let mut run = Run::clean();
        run.requests.truncate(10);
        run.requests[9].sent += late;
        run
    };
    assert_eq!(
        last_late(10_000)
            .audit()
            .reasons
            .iter()
            .filter(|found| found.reason.contains("sent"))
            .count(),
        0
    );
    last_late(10_001).is(Verdict::ClientLimited, "it sent 90.0 requests/s where 100.0 were due");
}

#[test]
fn late_sends_are_counted_from_a_millisecond_or_1_percent_of_the_gap() {
    let late = |count: usize, micros: u64| {
        Run::with(count, move |request| request.sent = request.due + micros)
    };
    late(1_000, 1_000).is(Verdict::Clean, "");
    late(99, 1_001).is(Verdict::Clean, "");
    late(100, 1_001).is(Verdict::Corrected, "10.0 % of the sends were more than 1.00 ms late");
    late(100, 10_000).is(Verdict::Corrected, "more than 1.00 ms late");
    late(99, 10_001).is(Verdict::Clean, "");
    late(100, 10_001).is(Verdict::ClientLimited, "of the sends were more than 10.00 ms late");
    let mut slow = Run::clean();
    slow.requests = (0..20)
        .map(|index| {
            let mut request = Request::number(0);
            request.due = 1_000_000 + index * 500_000;
            (request.granted, request.sent) = (request.due, request.due + 4_999);
            request
        })
        .collect();
    let sending = slow.audit().sending;
    assert_eq!((sending.late_from_us, sending.late, sending.judged), (5_000.0, 0, 20));
    assert_eq!((sending.far_late_from_us, sending.far_late), (50_000.0, 0));
}

#[test]
fn a_connection_is_not_the_clients_lag() {
    let connecting = Run::with_each(|request| {
        request.sent = request.due + 30_000;
        request.connection = Connection::New { connect_ns: 20_000_000, tls_ns: Some(9_500_000) };
    });
    let sending = connecting.audit().sending;
    assert_eq!((sending.late, sending.from_free.median_us), (0, Some(29_980.0)));
}

#[test]
fn no_request_of_a_burst_is_late_and_no_rate_is_missed() {
    let audit = Run::with_each(|request| {
        (request.granted, request.sent) = (1_000_000, request.due);
        request.due = 1_000_000;
    })
    .audit();
    assert_eq!((audit.sending.judged, audit.sending.behind_share), (0, None));
    assert_eq!(audit.verdict, Verdict::Clean, "{audit}");
    assert_eq!(
        audit.unchecked,
        ["late sends: all were due at once", "the achieved rate: there is no schedule"]
    );
}

/// Returns a run in which every request waits at the gate, each a little longer than the previous
/// one.
fn gated(limit: Option<usize>) -> Run {
    let mut run = Run::with_each(|request| {
        request.granted = request.due + 2_000 + (request.due - 1_000_000) / 2;
        request.sent = request.granted + 50;
    });
    run.facts.max_concurrency = limit;
    run
}

#[test]
fn a_gate_that_holds_requests_back_is_not_the_clients_doing() {
    let audit = gated(Some(4)).audit();
    let gate = audit.sending.gate.clone().unwrap();
    assert_eq!((gate.blocked, gate.wait.max_us), (1_000, Some(4_997_000.0)));
    assert_eq!((audit.sending.late, audit.sending.behind_us), (0, 0.0));
    assert!(audit.sending.achieved_per_s < Some(67.0), "{:?}", audit.sending);
    assert_eq!(audit.verdict, Verdict::Clean, "{audit}");
}

#[test]
fn without_a_gate_nothing_but_the_client_holds_back() {
    let run = gated(None);
    assert_eq!(run.audit().sending.gate, None);
    run.is(Verdict::ClientLimited, "it sent 66.7 requests/s where 100.0 were due");
}

#[test]
fn a_few_late_sends_are_no_habit() {
    let late = |count: usize| {
        let mut run = Run::with(count, |request| request.sent += 1_000);
        run.requests.truncate(10);
        run
    };
    late(4).is(Verdict::Clean, "");
    late(5).is(Verdict::Corrected, "50.0 % of the sends");
}

#[test]
fn who_is_late_by_a_little_keeps_up_and_who_sends_slower_does_not() {
    let late = Run::with_each(|request| request.sent = request.due + 2_000).audit();
    assert_eq!((late.verdict, late.keeps_up()), (Verdict::Corrected, true), "{late}");
    let mut behind = Run::clean();
    for (index, request) in (0..).zip(&mut behind.requests) {
        request.sent = request.due + index * 200;
    }
    assert!(!behind.audit().keeps_up());
    assert!(!Run::with_cost(|cost| cost.shards = vec![shard(96, 0)]).audit().keeps_up());
}

/// Returns a closed loop whose client sees the end of every answer late.
fn slow_to_see(end_lag: u64) -> Run {
    let mut run = gated(Some(4));
    run.requests.iter_mut().for_each(|request| request.end_lag = end_lag);
    run
}

#[test]
fn a_closed_loop_whose_places_stand_empty_has_another_load() {
    let share = |run: &Run| run.audit().sending.gate.unwrap().vacant_share.unwrap();
    assert!((share(&slow_to_see(40)) - 90.0 / 55_090.0).abs() < 1e-9);
    slow_to_see(400).is(Verdict::Clean, "");
    slow_to_see(900).is(Verdict::Corrected, "1.7 % of the concurrency was lost");
    let limited = slow_to_see(4_000);
    limited.is(Verdict::ClientLimited, "6.9 % of the concurrency was lost");
    let mut unknown = slow_to_see(0);
    unknown.requests.iter_mut().for_each(|request| request.clock = ArrivalClock::User);
    assert_eq!(unknown.audit().sending.gate.unwrap().vacant_share, None);
}
