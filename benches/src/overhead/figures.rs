//! From what was seen and what was true to figures.

use std::collections::HashMap;

use anyhow::{Context, ensure};
use serde::Serialize;
use servemark::core::{ClientCost, RequestRecord, RunLog, Stamp, Truth};
use servemark::metrics::{Deviation, MetricPolicy, Metrics, statistics};

use super::Account;
use crate::logs;

/// What a reader saw of one run, and what that cost it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Seen {
    /// Every stream.
    pub records: Vec<RequestRecord>,
    /// From the first request to the last answer, connecting left out.
    pub cost: ClientCost,
    /// How long the reader was ready to run and waited for its core.
    pub waited_ms: f64,
}

impl Seen {
    pub(super) fn new(records: Vec<RequestRecord>, cost: ClientCost, waited_ms: f64) -> Self {
        Self { records, cost, waited_ms }
    }
}

/// What came of one run of one load with one reader.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Figures {
    /// Mean time to first token.
    pub mean_ttft: Comparison,
    /// Its 99th percentile.
    pub p99_ttft: Comparison,
    /// Mean time between tokens.
    pub mean_itl: Comparison,
    /// Its 99th percentile.
    pub p99_itl: Comparison,
    /// 99th percentile of how far each single gap was off, either way.
    pub p99_gap_error_ms: f64,
    /// Chunks that came in one read of a stream, on average.
    pub chunks_per_read: f64,
    /// CPU microseconds of the reader per chunk.
    pub cpu_us_per_chunk: f64,
    /// CPU microseconds of the server per chunk.
    pub server_cpu_us_per_chunk: f64,
    /// How long the reader was ready to run and waited for its core.
    pub waited_ms: f64,
}

/// A number as reported and as it was, in milliseconds. Closed: the error is their difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// As reported.
    pub reported: f64,
    /// As it was.
    pub truth: f64,
}

impl Comparison {
    /// Reported minus truth.
    pub fn error(&self) -> f64 {
        self.reported - self.truth
    }
}

impl From<Deviation> for Comparison {
    fn from(deviation: Deviation) -> Self {
        Self { reported: deviation.reported_ms, truth: deviation.truth_ms }
    }
}

impl Figures {
    /// Figures of one run; `server_cpu_ns` is what the server used for it.
    pub fn of(seen: Seen, account: Account, server_cpu_ns: u64) -> anyhow::Result<Self> {
        let Seen { records, cost, waited_ms } = seen;
        let chunks: usize = records.iter().map(|record| record.deltas.len()).sum();
        let reads: usize = records.iter().map(reads).sum();
        let gaps = Gaps::of(&records, &account.truth)?;
        let per_chunk = |nanos: u64| nanos as f64 / 1e3 / chunks as f64;
        let mut footer = logs::footer(Stamp::ZERO);
        footer.truth = account.truth;
        let log = RunLog::new(logs::header(records.len()), records, Some(footer));
        let truth = Metrics::score(&log, &MetricPolicy::native()).truth;
        let truth = truth.context("the server kept no truth of any stream")?;
        Ok(Self {
            mean_ttft: truth.mean_ttft.into(),
            p99_ttft: truth.p99_ttft.into(),
            mean_itl: gaps.mean().context("no stream had two chunks")?,
            p99_itl: truth.p99_itl.context("no stream had two chunks")?.into(),
            p99_gap_error_ms: gaps.p99_error().context("no stream had two chunks")?,
            chunks_per_read: chunks as f64 / reads as f64,
            cpu_us_per_chunk: per_chunk(cost.cpu_ns),
            server_cpu_us_per_chunk: per_chunk(server_cpu_ns),
            waited_ms,
        })
    }
}

/// How many reads a stream's chunks came in: all chunks of one read have one stamp.
fn reads(record: &RequestRecord) -> usize {
    let stamps: Vec<Stamp> = record.deltas.rows().map(|row| row.at).collect();
    stamps.chunk_by(|one, next| one == next).count()
}

/// Every gap between two chunks of one stream, reported and true, side by side; milliseconds.
struct Gaps {
    reported: Vec<f64>,
    truth: Vec<f64>,
}

impl Gaps {
    /// Pairs the gaps up. A stream that failed, or that shows other chunks than were sent, makes
    /// the whole run worthless.
    fn of(records: &[RequestRecord], truth: &[Truth]) -> anyhow::Result<Self> {
        let truth: HashMap<_, _> = truth.iter().map(|truth| (truth.key(), truth)).collect();
        let (mut reported, mut sent) = (Vec::new(), Vec::new());
        for record in records {
            let index = record.index;
            if let Err(error) = &record.outcome {
                anyhow::bail!("stream {index} failed: {error}");
            }
            let truth = truth.get(&record.key()).with_context(|| format!("no truth of {index}"))?;
            let stamps = record.deltas.rows().map(|row| row.at.as_nanos());
            extend_with_gaps(&mut reported, &stamps.collect::<Vec<_>>());
            extend_with_gaps(&mut sent, &truth.sent_ns);
            ensure!(reported.len() == sent.len(), "stream {index} shows other chunks than sent");
        }
        Ok(Self { reported, truth: sent })
    }

    fn mean(&self) -> Option<Comparison> {
        let mean = statistics::mean;
        Some(Comparison { reported: mean(&self.reported)?, truth: mean(&self.truth)? })
    }

    fn p99_error(&self) -> Option<f64> {
        let pairs = self.reported.iter().zip(&self.truth);
        let mut errors: Vec<f64> =
            pairs.map(|(reported, truth)| (reported - truth).abs()).collect();
        errors.sort_unstable_by(f64::total_cmp);
        statistics::percentile(&errors, 99.0)
    }
}

fn extend_with_gaps(gaps: &mut Vec<f64>, nanos: &[u64]) {
    gaps.extend(nanos.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64 / 1e6));
}

#[cfg(test)]
mod tests {
    use servemark::core::{Delta, Finish, Phase, Recorder, Sample, Sink};

    use super::*;

    const MS: u64 = 1_000_000;

    /// A stream sent at zero, with a chunk at each of these milliseconds.
    fn record(index: usize, arrivals_ms: &[u64]) -> RequestRecord {
        let sample = Sample::new("hi", 1, 4);
        let mut recorder = Recorder::new(index, Phase::Measure, &sample, Stamp::ZERO);
        recorder.sent(Stamp::ZERO);
        for at in arrivals_ms {
            recorder.at(Stamp::from_nanos(at * MS)).delta(Delta::content("x"));
        }
        recorder.finish(Ok(Finish::default()), Stamp::ZERO)
    }

    fn truth(index: usize, sent_ms: &[u64]) -> Truth {
        Truth::new((index, 0), sent_ms.iter().map(|ms| ms * MS).collect())
    }

    fn figures(records: Vec<RequestRecord>, truth: Vec<Truth>) -> anyhow::Result<Figures> {
        let seen = Seen::new(records, ClientCost::new(80_000, 1), 0.5);
        Figures::of(seen, Account { cpu_ns: 0, truth }, 16_000)
    }

    #[test]
    fn errors_are_reported_minus_truth() {
        let records = vec![record(0, &[12, 20, 20, 40]), record(1, &[10, 22, 30, 40])];
        let sent = vec![truth(1, &[10, 20, 30, 40]), truth(0, &[10, 20, 30, 40])];
        let figures = figures(records, sent).unwrap();
        assert_eq!(figures.mean_ttft, Comparison { reported: 11.0, truth: 10.0 });
        let itl = figures.mean_itl;
        assert!((itl.error() + 1.0 / 3.0).abs() < 1e-9 && (itl.truth - 10.0).abs() < 1e-9);
        assert!((9.9..=10.0).contains(&figures.p99_gap_error_ms), "{figures:?}");
        assert_eq!((figures.cpu_us_per_chunk, figures.server_cpu_us_per_chunk), (10.0, 2.0));
        assert!((figures.chunks_per_read - 8.0 / 7.0).abs() < 1e-9);
    }

    #[test]
    fn a_run_that_lost_a_chunk_has_no_figures() {
        let lost = figures(vec![record(0, &[10, 20])], vec![truth(0, &[10, 20, 30])]);
        assert_eq!(lost.unwrap_err().to_string(), "stream 0 shows other chunks than sent");
    }
}
