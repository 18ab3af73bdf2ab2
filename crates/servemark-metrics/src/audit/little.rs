//! Little's law over the middle of a run: do its means tell one story?

use serde::Serialize;
use servemark_core::{RequestRecord, RunLog, Stamp};

use super::limits;
use crate::score::{seconds, seconds_between};

/// Little's law (mean concurrency = throughput x mean latency) over the middle 80 % of a run.
///
/// Over a whole run that begins and ends with nothing in flight it holds whatever was measured.
/// Here it can fail: the left side is the in-flight time of *all* requests that lies in the window,
/// the right side is made of the *successes* that ended in it, each with its whole latency. They
/// differ if failures hold much of the concurrency, or if more is under way at one edge of the
/// window than at the other: then the means describe no steady run. Both sides are made of the same
/// stamps, so a wrong clock does not show.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LittlesLaw {
    /// Where the window begins, in seconds since the run's clock started.
    pub from_s: f64,
    /// Where it ends.
    pub to_s: f64,
    /// The mean number of requests in flight, by a sweep over every start and end.
    pub concurrency: f64,
    /// Successes that ended in the window, per second.
    pub requests_per_s: f64,
    /// Their mean E2E latency.
    pub mean_e2el_ms: f64,
    /// Throughput times latency.
    pub expected_concurrency: f64,
    /// By which share of the sweep's concurrency the two differ.
    pub difference: f64,
}

impl LittlesLaw {
    /// Compares, if the window is long enough for its edges not to matter.
    pub(super) fn of(log: &RunLog) -> Option<Self> {
        let (from, to) = middle(log)?;
        let ended = |record: &&RequestRecord| {
            record.is_success() && (from..to).contains(&record.ended) && record.sent.is_some()
        };
        let latencies = || log.measured().filter(ended).map(latency_s);
        let (completed, length) = (latencies().count() as f64, seconds_between(from, to));
        let mean = latencies().sum::<f64>() / completed;
        if completed == 0.0 || length < limits::LITTLE_LATENCIES * mean {
            return None;
        }
        let in_flight = log.measured().filter_map(|record| overlap_s(record, from, to));
        let concurrency = in_flight.sum::<f64>() / length;
        let expected = completed / length * mean;
        Some(Self {
            from_s: seconds(from),
            to_s: seconds(to),
            concurrency,
            requests_per_s: completed / length,
            mean_e2el_ms: mean * 1000.0,
            expected_concurrency: expected,
            difference: (expected - concurrency) / concurrency,
        })
    }
}

/// What is left of a run without its first and last tenth.
fn middle(log: &RunLog) -> Option<(Stamp, Stamp)> {
    let first = log.measured().filter_map(|record| record.sent).min()?;
    let last = log.measured().map(|record| record.ended).max()?;
    let tenth = last.since(first) / 10;
    Some((first + tenth, first + tenth * 9))
}

fn latency_s(record: &RequestRecord) -> f64 {
    seconds_between(record.started(), record.ended)
}

/// For how long a request was in flight in a window.
fn overlap_s(record: &RequestRecord, from: Stamp, to: Stamp) -> Option<f64> {
    Some(seconds_between(record.sent?.max(from), record.ended.min(to)))
}
