//! HTTP/2: streams share a connection, and so their reads.

use servemark_metrics::{AccuracyVerdict, LoadVerdict};

use super::*;

/// Returns requests of a client whose every read is `lag` microseconds late. Their pieces come at
/// least 2.5 ms apart, so that no two are in one read.
fn alone(lag: u64) -> Run {
    let mut run = Run::with_each(move |request| {
        request.clock = ArrivalClock::KernelBound;
        request.segments = None;
        let offset = (request.due / 10_000) % 4 * 2_500;
        for time in [&mut request.due, &mut request.granted, &mut request.sent] {
            *time += offset;
        }
        request.ends_after = 56_300;
        request.pieces.iter_mut().for_each(|(_, lay)| *lay = lag);
    });
    run.cost.as_mut().unwrap().shards = vec![shard(20, 30)];
    run
}

/// Returns the run of [`alone`] in which the last piece of each of the first `requests` requests is
/// read together with a piece of the next request, with the same lag.
fn together(requests: usize, lag: u64) -> Run {
    let mut run = alone(lag);
    for index in 0..requests {
        let next = run.requests[index + 1].sent + 40_000;
        let request = &mut run.requests[index];
        request.pieces[3] = (next - request.sent, lag);
    }
    run
}

#[test]
fn pieces_that_are_alone_in_their_read_are_stamped_exactly_however_late_it_was() {
    let audit = alone(3_000).audit();
    assert_eq!(audit.verdict, Verdict::Corrected, "{audit}");
    assert_eq!(audit.latencies.verdict, AccuracyVerdict::Corrected, "{audit}");
    assert_eq!((audit.load.verdict, audit.reading.stamp_error.doubtful), (LoadVerdict::Carried, 0));
    assert_eq!(audit.latencies.right_to_us, Some(30.0));
    alone(99).is(Verdict::Clean, "the p99 lag of 99 us is 1.0 %");
}

#[test]
fn fewer_than_one_piece_in_a_hundred_that_shared_a_read_are_left_to_the_tail() {
    let audit = together(19, 300).audit();
    assert_eq!(audit.reading.stamp_error.doubtful, 38);
    assert_eq!(audit.latencies.right_to_us, Some(30.0));
    assert_eq!(audit.verdict, Verdict::Corrected, "{audit}");
    assert!(audit.is_comparable());
}

#[test]
fn more_of_them_waited_no_longer_than_the_lone_ones() {
    let audit = together(100, 300).audit();
    let error = audit.reading.stamp_error;
    assert_eq!((error.doubtful, error.lone_lag.max_us), (200, Some(300.0)));
    // The previous read of the connection was at most one gap before, less the lag of that read.
    assert_eq!(error.at_most.max_us, Some(9_700.0));
    assert!(error.at_most.p99_us >= Some(1_000.0), "{error:?}");
    assert_eq!(audit.latencies.right_to_us, Some(330.0));
    assert_eq!(audit.verdict, Verdict::Corrected, "{audit}");
}

#[test]
fn what_waited_long_in_shared_reads_is_in_doubt() {
    let audit = together(100, 900).audit();
    assert_eq!(audit.latencies.right_to_us, Some(930.0));
    assert_eq!(audit.verdict, Verdict::Suspect, "{audit}");
    let reason = "latencies are known to 930 us, 9.3 % of the median gap between reads of 10.00 ms: \
                  5.0 % of the pieces were read together with later bytes";
    assert!(audit.to_string().contains(reason), "{audit}");
}

#[test]
fn where_all_pieces_share_their_reads_the_gap_is_the_bound() {
    // Every piece comes with the corresponding piece of all hundred requests.
    let mut run = alone(20);
    run.requests.truncate(100);
    run.requests.iter_mut().for_each(|request| request.sent = 1_010_000);
    let audit = run.audit();
    let error = audit.reading.stamp_error;
    assert_eq!(error.doubtful, 400);
    // For first pieces the previous read brought the headers, for the others the previous piece.
    assert_eq!(error.at_most.max_us, Some(19_000.0));
    assert_eq!(error.at_most.median_us, Some(9_980.0));
    assert_eq!(audit.latencies.verdict, AccuracyVerdict::Uncertain, "{audit}");
}

#[test]
fn on_a_core_of_its_own_a_client_that_read_at_once_was_waited_for_no_longer() {
    let mut run = together(1_000 - 1, 20);
    run.cost.as_mut().unwrap().shards = vec![shard(20, 1)];
    let audit = run.audit();
    assert_eq!(audit.reading.stamp_error.at_most.p99_us, Some(100.0));
    assert_eq!(audit.verdict, Verdict::Clean, "{audit}");
}
