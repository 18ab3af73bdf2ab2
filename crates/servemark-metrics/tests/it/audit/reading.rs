//! Lags, clocks and shared reads.

use super::*;

/// Returns a clean run with another read lag, in microseconds, for the pieces of the first
/// `requests` requests.
fn lagging(requests: usize, lag: u64) -> Run {
    Run::with(requests, |request| request.pieces.iter_mut().for_each(|(_, lay)| *lay = lag))
}

#[test]
fn a_lag_from_1_percent_of_the_gap_on_is_corrected() {
    lagging(1_000, 99).is(Verdict::Clean, "the p99 lag of 99 us is 1.0 %");
    lagging(1_000, 100).is(Verdict::Corrected, "the p99 lag of 100 us is 1.0 %");
    lagging(1_000, 900).is(Verdict::Corrected, "the kernel's stamps took it out");
}

#[test]
fn the_lag_of_fewer_than_one_in_a_hundred_is_left_to_the_tail() {
    lagging(9, 5_000).is(Verdict::Clean, "40 us");
    lagging(11, 5_000).is(Verdict::Corrected, "5.00 ms");
    let audit = lagging(9, 5_000).audit();
    assert_eq!(audit.reading.lag.max_us, Some(5_000.0));
    assert_eq!(audit.reading.first_lag.samples, 1_000);
}

#[test]
fn gaps_are_told_by_both_clocks() {
    let run = Run::with_each(|request| request.pieces[3].1 = 4_040);
    let reading = run.audit().reading;
    assert_eq!(reading.p99_itl_us, Some(10_000.0));
    assert_eq!(reading.p99_itl_by_user_clock_us, Some(14_000.0));
    assert_eq!(reading.reference, Some(LagReference::Gap { median_us: 10_000.0 }));
}

#[test]
fn by_the_clients_clock_the_lag_is_in_every_latency() {
    let by_user = |count: usize| {
        Run::with(count, |request| {
            request.clock = ArrivalClock::User;
            request.pieces.iter_mut().for_each(|(_, lay)| *lay = 0);
        })
    };
    by_user(9).is(Verdict::Clean, "40 us");
    by_user(10).is(Verdict::Suspect, "1.0 % of the answers");
    let audit = by_user(1_000).audit();
    assert_eq!(audit.reading.arrival_clock, Some(ArrivalClock::User));
    assert_eq!((audit.reading.lag.samples, audit.reading.lag.p99_us), (0, None));
    assert_eq!(audit.unchecked, ["the lag of 1000 of 1000 answers: no kernel stamps"]);
}

/// Returns a run in whose first `requests` requests the second piece is read together with the
/// third, `lag` microseconds after that one arrived.
fn sharing(requests: usize, lag: u64, segments: Option<u32>) -> Run {
    Run::with(requests, move |request| {
        request.pieces = vec![(20_000, 40), (40_000, lag), (40_000, lag), (50_000, 40)];
        request.segments = segments;
    })
}

#[test]
fn pieces_that_lay_unread_in_segments_of_their_own_are_the_clients_fault() {
    sharing(39, 150, Some(6)).is(Verdict::Corrected, "");
    sharing(40, 150, Some(6)).is(Verdict::Suspect, "1.0 % of the pieces were queued unread");
    assert_eq!(sharing(40, 150, Some(6)).audit().reading.shared.by_client, 40);
    sharing(40, 150, Some(6)).is(
        Verdict::Suspect,
        "the p99 lag of 150 us is 1.5 % of the median gap between reads of 10.00 ms, at least",
    );
}

#[test]
fn pieces_that_came_in_one_segment_are_not() {
    let audit = sharing(1_000, 90, Some(5)).audit();
    let reading = &audit.reading;
    assert_eq!((reading.shared.elsewhere, reading.shared.by_client), (1_000, 0));
    assert_eq!(reading.pieces_per_read(), Some(4.0 / 3.0));
    assert_eq!(audit.verdict, Verdict::Clean, "{audit}");
}

#[test]
fn nor_are_those_that_were_read_at_once() {
    let audit = sharing(1_000, 99, Some(6)).audit();
    assert_eq!(audit.reading.shared.elsewhere, 1_000);
    assert_eq!(audit.verdict, Verdict::Clean, "{audit}");
}

#[test]
fn where_nobody_counted_segments_the_client_is_under_suspicion() {
    let run = sharing(40, 150, None);
    run.is(Verdict::Suspect, "of some the kernel did not say");
    assert_eq!(run.audit().reading.shared.unknown, 40);
    assert!(run.audit().unchecked[0].contains("known of 960 of 1000"));
}

#[test]
fn an_answer_in_one_read_is_held_against_its_latency() {
    let whole = |lag: u64| Run::with_each(move |request| request.pieces = vec![(50_000, lag)]);
    whole(499).is(Verdict::Clean, "the p99 lag of 499 us is 0.9 % of the median E2E latency");
    whole(550).is(Verdict::Corrected, "of the median E2E latency of 55.00 ms");
}

#[test]
fn an_answer_without_pieces_lags_with_its_end() {
    let embedding = |lag: u64| {
        Run::with_each(move |request| (request.pieces, request.end_lag) = (Vec::new(), lag))
    };
    embedding(549).is(Verdict::Clean, "549 us");
    embedding(550).is(Verdict::Corrected, "550 us is 1.0 % of the median E2E latency");
    assert_eq!(embedding(1).audit().reading.pieces_per_read(), None);
}
