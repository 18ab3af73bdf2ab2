//! What was measured of the bundled simulator beside what it really did.

use std::collections::HashMap;

use serde::Serialize;
use servemark_core::{RequestKey, RequestRecord, RunLog, Truth};

use crate::statistics;

/// What was measured of the bundled simulator beside what it really did. It is made of raw stamps,
/// piece by piece, whatever the policy; the difference is the error of the measurement, the
/// loopback's own delay included.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TruthComparison {
    /// Requests that are in both.
    pub requests: usize,
    /// Measured requests of which the simulator kept no truth.
    pub without_truth: usize,
    /// Requests that show more or fewer pieces than were sent.
    pub other_pieces: usize,
    /// Mean time to first piece.
    pub mean_ttft: Deviation,
    /// Its 99th percentile.
    pub p99_ttft: Deviation,
    /// Its maximum.
    pub max_ttft: Deviation,
    /// 99th percentile of the gaps between pieces; absent where none were sent.
    pub p99_itl: Option<Deviation>,
    /// The largest gap between pieces; absent where none were sent.
    pub max_itl: Option<Deviation>,
}

/// A number as reported and as it was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Deviation {
    /// As measured.
    pub reported_ms: f64,
    /// As it was.
    pub truth_ms: f64,
    /// Reported minus truth.
    pub difference_ms: f64,
}

impl TruthComparison {
    /// Compares; nothing if there is no truth to compare with.
    pub(crate) fn of(log: &RunLog) -> Option<Self> {
        let truths: HashMap<RequestKey, &Truth> =
            log.footer()?.truth.iter().map(|truth| (truth.key(), truth)).collect();
        let pairs: Vec<_> = log
            .measured()
            .filter(|record| record.is_success() && !record.deltas.is_empty())
            .filter_map(|record| Some((record, *truths.get(&record.key())?)))
            .filter(|(_, truth)| !truth.sent_ns.is_empty())
            .collect();
        let ttft = Pair::of(&pairs, |times| times[..1].to_vec());
        let itl = Pair::of(&pairs, gaps);
        let other = |(record, truth): &&(&RequestRecord, &Truth)| {
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

/// One sample as reported and as it was, sorted, in milliseconds.
struct Pair {
    reported: Vec<f64>,
    truth: Vec<f64>,
}

impl Pair {
    /// The sample that `of` takes from the times of each request's pieces.
    fn of(pairs: &[(&RequestRecord, &Truth)], of: fn(&[u64]) -> Vec<u64>) -> Self {
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

/// Nanoseconds from when a request was sent to each of its pieces.
fn arrivals(record: &RequestRecord) -> Vec<u64> {
    let sent = record.started();
    record.deltas.rows().map(|row| row.at.as_nanos().saturating_sub(sent.as_nanos())).collect()
}

fn gaps(times: &[u64]) -> Vec<u64> {
    times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
}

fn sorted_ms(nanos: impl Iterator<Item = u64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = nanos.map(|nanos| nanos as f64 / 1e6).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

fn p99(sorted: &[f64]) -> Option<f64> {
    statistics::percentile(sorted, 99.0)
}

fn max(sorted: &[f64]) -> Option<f64> {
    sorted.last().copied()
}
