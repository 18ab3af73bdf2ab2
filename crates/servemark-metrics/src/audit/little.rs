//! Checks Little's law over the middle of a run: whether its means are consistent with each other.

use serde::Serialize;
use servemark_core::{RunLog, Stamp};

use super::limits;
use crate::seconds::{seconds, seconds_between};

/// Little's law (mean concurrency = throughput x mean latency) over the middle 80 % of a run.
///
/// Both sides cover all requests of the measurement that were sent: successes, failures, cancelled
/// requests, and tries that were repeated. The left side is the in-flight time that lies in the
/// window. The right side covers the requests that ended in the window, each with its whole
/// latency. Over a whole run that begins and ends with nothing in flight, the two sides are the
/// same sum. In the window they differ if more requests are in flight at one edge than at the
/// other; the means then describe no steady run. Both sides use the same stamps, so a wrong clock
/// does not show.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LittlesLaw {
    /// Start of the window, in seconds since the run's clock started.
    pub from_s: f64,
    /// End of the window, in seconds since the run's clock started.
    pub to_s: f64,
    /// Mean number of requests in flight, from a sweep over every start and end.
    pub concurrency: f64,
    /// Requests per second that ended in the window, with any outcome.
    pub requests_per_s: f64,
    /// Mean time in flight of the requests that ended in the window, from sent to ended.
    pub mean_e2el_ms: f64,
    /// Throughput times latency.
    pub expected_concurrency: f64,
    /// Difference of the two sides, as a share of `concurrency`.
    pub difference: f64,
}

impl LittlesLaw {
    /// Compares the two sides, if the window is so long that its edges do not matter.
    pub(super) fn of(log: &RunLog) -> Option<Self> {
        let (from, to) = middle(log)?;
        let first = log.measured().filter_map(|record| record.sent).min()?;
        let in_flight = || {
            let tries = log.measured().chain(log.retried());
            // Tries of the warm-up are in `retried` too; they were sent before the measurement.
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
        // The mean latency over what is in flight at an instant, where long requests are seen more
        // often. It equals the plain mean if all latencies are alike, and is longer if some are far
        // slower; the edges of the window then matter more.
        let observed = latencies().map(|latency| latency * latency).sum::<f64>() / sum;
        if length < limits::LITTLE_LATENCIES * observed {
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

/// Returns the time span of a run without its first and last tenth.
fn middle(log: &RunLog) -> Option<(Stamp, Stamp)> {
    let first = log.measured().filter_map(|record| record.sent).min()?;
    let last = log.measured().map(|record| record.ended).max()?;
    let tenth = last.since(first) / 10;
    Some((first + tenth, first + tenth * 9))
}
