//! Little's law over the middle of a run: do its means tell one story?

use serde::Serialize;
use servemark_core::{RunLog, Stamp};

use super::limits;
use crate::score::{seconds, seconds_between};

/// Little's law (mean concurrency = throughput x mean latency) over the middle 80 % of a run.
///
/// Both sides are made of all requests of the measurement that were sent: successes, failures,
/// cancelled ones, and tries that were made again. The left side is their in-flight time that lies
/// in the window; the right side is made of those that ended in it, each with its whole latency.
/// Over a whole run that begins and ends with nothing in flight the two are one sum. In the window
/// they differ if more is under way at one of its edges than at the other: then the means describe
/// no steady run. Both sides are made of the same stamps, so a wrong clock does not show.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LittlesLaw {
    /// Where the window begins, in seconds since the run's clock started.
    pub from_s: f64,
    /// Where it ends.
    pub to_s: f64,
    /// The mean number of requests in flight, by a sweep over every start and end.
    pub concurrency: f64,
    /// Requests that ended in the window, however they ended, per second.
    pub requests_per_s: f64,
    /// Their mean time in flight, from sent to ended.
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
        let first = log.measured().filter_map(|record| record.sent).min()?;
        let in_flight = || {
            let tries = log.measured().chain(log.retried());
            // Tries of the warm-up are retried ones, too; they were sent before the measurement.
            let spans = tries.filter_map(|record| Some((record.sent?, record.ended)));
            spans.filter(move |&(sent, _)| sent >= first)
        };
        let ended = || in_flight().filter(|(_, ended)| (from..to).contains(ended));
        let (count, length) = (ended().count() as f64, seconds_between(from, to));
        let latencies = || ended().map(|(sent, ended)| seconds_between(sent, ended));
        let sum = latencies().sum::<f64>();
        if sum == 0.0 {
            return None;
        }
        // The mean over what is in flight at an instant, where long requests are seen more often:
        // of latencies that are all alike the plain mean, and longer where some are far slower,
        // whose edges matter more.
        let seen = latencies().map(|latency| latency * latency).sum::<f64>() / sum;
        if length < limits::LITTLE_LATENCIES * seen {
            return None;
        }
        let mean = sum / count;
        let overlap =
            |(sent, ended): (Stamp, Stamp)| seconds_between(sent.max(from), ended.min(to));
        let concurrency = in_flight().map(overlap).sum::<f64>() / length;
        let expected = count / length * mean;
        Some(Self {
            from_s: seconds(from),
            to_s: seconds(to),
            concurrency,
            requests_per_s: count / length,
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
