//! By whose clock a run's arrivals are known, and how long they waited for the client to look.

use serde::Serialize;
use servemark_core::{ArrivalClock, DeltaLog, DeltaRow, RunLog, Stamp};

use crate::policy::MetricPolicy;
use crate::summary::Summary;

/// By whose clock a run's arrivals are known, and how far the client's own would have been off.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Arrivals {
    /// The weakest of all requests that got an answer; absent if none did.
    pub clock: Option<ArrivalClock>,
    /// From the arrival of each piece to the read that brought it: what the kernel's stamps took
    /// out of the latencies. It cannot be known by the program's own clock and is empty then.
    pub lag: Summary,
    /// The same for the first piece of each request.
    pub first_lag: Summary,
    /// How many pieces came with one read, on average. Pieces that share a read share a stamp, so
    /// of much more than one neither clock tells the truth.
    pub pieces_per_read: Option<f64>,
}

impl Arrivals {
    pub(crate) fn of(log: &RunLog, policy: &MetricPolicy) -> Self {
        let stamped = || log.measured().filter(|record| record.arrival_clock != ArrivalClock::User);
        let lags = || stamped().flat_map(|record| record.deltas.rows().map(lag_s));
        let first = || stamped().filter_map(|record| record.deltas.rows().next().map(lag_s));
        Self {
            clock: clock(log),
            lag: Summary::of_values(lags, policy),
            first_lag: Summary::of_values(first, policy),
            pieces_per_read: pieces_per_read(log),
        }
    }
}

fn clock(log: &RunLog) -> Option<ArrivalClock> {
    let answered = log.measured().filter(|record| record.first_byte.is_some());
    answered.map(|record| record.arrival_clock).min()
}

fn lag_s(row: DeltaRow) -> f64 {
    f64::from(row.lag_us) / 1e6
}

fn pieces_per_read(log: &RunLog) -> Option<f64> {
    let pieces: usize = log.measured().map(|record| record.deltas.len()).sum();
    let reads: usize = log.measured().map(|record| reads(&record.deltas)).sum();
    (reads > 0).then(|| pieces as f64 / reads as f64)
}

/// No two reads of a stream have the same stamp, but for pieces larger than a packet.
fn reads(deltas: &DeltaLog) -> usize {
    let mut last: Option<Stamp> = None;
    deltas.rows().filter(|row| last.replace(row.at) != Some(row.at)).count()
}

#[cfg(test)]
mod tests {
    use servemark_core::{
        Arrival, Delta, Finish, Header, Phase, Recorder, RequestRecord, RunFacts, Sample, Sink,
    };

    use super::*;

    /// A request whose pieces arrived at these microseconds and were seen later by as many.
    fn record(clock: ArrivalClock, pieces: &[(u64, u64)]) -> RequestRecord {
        let us = |us: u64| Stamp::from_nanos(us * 1000);
        let sample = Sample::new("hi", 1, 4);
        let mut recorder = Recorder::new(0, Phase::Measure, &sample, Stamp::ZERO);
        recorder.arrival_clock(clock);
        for &(at, lag) in pieces {
            recorder.body(us(at), 1);
            recorder.at(Arrival::new(us(at), us(at + lag))).delta(Delta::content("x"));
        }
        recorder.finish(Ok(Finish::default()), Stamp::ZERO)
    }

    fn arrivals(records: Vec<RequestRecord>) -> Arrivals {
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        Arrivals::of(&RunLog::new(header, records, None), &MetricPolicy::native())
    }

    #[test]
    fn lag_is_told_of_all_pieces_and_of_the_first_ones() {
        let one = record(ArrivalClock::Kernel, &[(10, 100), (20, 300), (20, 300)]);
        let other = record(ArrivalClock::KernelBound, &[(10, 500)]);
        let arrivals = arrivals(vec![one, other]);
        assert_eq!(arrivals.clock, Some(ArrivalClock::KernelBound));
        assert_eq!((arrivals.lag.samples, arrivals.lag.max_ms), (4, Some(0.5)));
        assert_eq!((arrivals.first_lag.samples, arrivals.first_lag.min_ms), (2, Some(0.1)));
        assert_eq!(arrivals.pieces_per_read, Some(4.0 / 3.0));
    }

    #[test]
    fn without_the_kernel_nobody_knows() {
        let arrivals = arrivals(vec![record(ArrivalClock::User, &[(10, 0)])]);
        assert_eq!((arrivals.clock, arrivals.lag.samples), (Some(ArrivalClock::User), 0));
    }

    #[test]
    fn a_run_without_an_answer_has_no_clock() {
        let arrivals = arrivals(vec![record(ArrivalClock::User, &[])]);
        assert_eq!((arrivals.clock, arrivals.pieces_per_read), (None, None));
    }
}
