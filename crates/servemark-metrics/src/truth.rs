//! Compares measurements of the bundled simulator with what it really did.

use std::collections::HashMap;

use serde::Serialize;
use servemark_core::{RequestKey, RequestRecord, RunLog, SimulatedTimes};

use crate::statistics;

/// Comparison of measurements of the bundled simulator with what it really did. It uses raw stamps,
/// piece by piece, whatever the policy. The difference is the error of the measurement, which
/// contains the delay of the loopback interface.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TruthComparison {
    /// Number of requests that are in both.
    pub requests: usize,
    /// Number of measured requests for which the simulator kept no truth.
    pub without_truth: usize,
    /// Number of requests with more or fewer pieces than the simulator sent.
    pub other_pieces: usize,
    /// Mean time to first piece.
    pub mean_ttft: Deviation,
    /// 99th percentile of the time to first piece.
    pub p99_ttft: Deviation,
    /// Largest time to first piece.
    pub max_ttft: Deviation,
    /// 99th percentile of the gaps between pieces; absent if there were none.
    pub p99_itl: Option<Deviation>,
    /// Largest gap between pieces; absent if there were none.
    pub max_itl: Option<Deviation>,
}

/// A figure as reported and in truth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Deviation {
    /// Value as measured, in milliseconds.
    pub reported_ms: f64,
    /// True value in milliseconds.
    pub truth_ms: f64,
    /// Reported value minus true value, in milliseconds.
    pub difference_ms: f64,
}

impl TruthComparison {
    /// Compares a log with the simulator's truth; absent if the log has none.
    pub(crate) fn of(log: &RunLog) -> Option<Self> {
        let truths: HashMap<RequestKey, &SimulatedTimes> =
            log.footer()?.truth.iter().map(|truth| (truth.key(), truth)).collect();
        let pairs: Vec<_> = log
            .measured()
            .filter(|record| record.is_success() && !record.deltas.is_empty())
            .filter_map(|record| Some((record, *truths.get(&record.key())?)))
            .filter(|(_, truth)| !truth.sent_ns.is_empty())
            .collect();
        let ttft = Pair::of(&pairs, |times| times[..1].to_vec());
        let itl = Pair::of(&pairs, gaps);
        let other = |(record, truth): &&(&RequestRecord, &SimulatedTimes)| {
            record.deltas.len() != truth.sent_ns.len()
        };
        Some(Self {
            requests: pairs.len(),
            without_truth: log
                .measured()
                .filter(|record| !truths.contains_key(&record.key()))
                .count(),
            other_pieces: pairs.iter().filter(other).count(),
            mean_ttft: ttft.compare(statistics::mean)?,
            p99_ttft: ttft.compare(p99)?,
            max_ttft: ttft.compare(max)?,
            p99_itl: itl.compare(p99),
            max_itl: itl.compare(max),
        })
    }
}

/// One sample as reported and in truth, sorted, in milliseconds.
struct Pair {
    reported: Vec<f64>,
    truth: Vec<f64>,
}

impl Pair {
    /// Collects the samples that `of` computes from the times of each request's pieces.
    fn of(pairs: &[(&RequestRecord, &SimulatedTimes)], of: fn(&[u64]) -> Vec<u64>) -> Self {
        Self {
            reported: sorted_ms(pairs.iter().flat_map(|(record, _)| of(&arrivals(record)))),
            truth: sorted_ms(pairs.iter().flat_map(|(_, truth)| of(&truth.sent_ns))),
        }
    }

    fn compare(&self, statistic: fn(&[f64]) -> Option<f64>) -> Option<Deviation> {
        let (reported_ms, truth_ms) = (statistic(&self.reported)?, statistic(&self.truth)?);
        Some(Deviation { reported_ms, truth_ms, difference_ms: reported_ms - truth_ms })
    }
}

/// Returns the nanoseconds from when a request was sent to each of its pieces.
fn arrivals(record: &RequestRecord) -> Vec<u64> {
    let sent = record.started();
    record.deltas.rows().map(|row| row.at.as_nanos().saturating_sub(sent.as_nanos())).collect()
}

fn gaps(times: &[u64]) -> Vec<u64> {
    times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
}

fn sorted_ms(nanos: impl Iterator<Item = u64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = nanos.map(|nanos| nanos as f64 / 1e6).collect();
    servemark_statistics::sort(&mut sorted);
    sorted
}

fn p99(sorted: &[f64]) -> Option<f64> {
    statistics::percentile(sorted, 99.0)
}

fn max(sorted: &[f64]) -> Option<f64> {
    sorted.last().copied()
}
