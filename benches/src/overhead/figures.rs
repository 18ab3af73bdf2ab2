//! Computes figures from observed streams and their true times.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use servemark::core::{RequestKey, RequestRecord, SimulatedTimes};
use servemark::metrics::{Verdict, statistics};
use servemark::mock::TruthRow;

use super::StreamLoad;
use super::program::{ProgramRun, Reported};
use super::test_bed::{Observed, ObservedRun};

/// Figures of one run of one load with one reader.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct StreamFigures {
    /// Mean time to first token.
    pub mean_ttft: Comparison,
    /// 99th percentile of the time to first token.
    pub p99_ttft: Comparison,
    /// Mean time between tokens.
    pub mean_itl: Comparison,
    /// 99th percentile of the time between tokens.
    pub p99_itl: Comparison,
    /// 99th percentile of the absolute error of single gaps, in milliseconds; absent if gaps cannot
    /// be assigned to each other.
    pub p99_gap_error_ms: Option<f64>,
    /// Mean number of chunks in one read of a stream; absent if the reader does not show it.
    pub chunks_per_read: Option<f64>,
    /// CPU microseconds of the reader per chunk.
    pub cpu_us_per_chunk: f64,
    /// CPU microseconds of the server per chunk.
    pub server_cpu_us_per_chunk: f64,
    /// 99th percentile of how late the server sent a chunk by its own schedule, in milliseconds;
    /// absent without a schedule.
    pub server_late_ms: Option<f64>,
    /// Share of the time in which the server was busy, from 0 to 1; absent if the server never
    /// sleeps.
    pub server_busy: Option<f64>,
    /// Verdict of the client's own audit of the run.
    pub verdict: Option<Verdict>,
}

/// A figure as reported and in truth, in milliseconds. The struct is closed: the error is the
/// difference of the two.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Comparison {
    /// Reported value.
    pub reported: f64,
    /// True value.
    pub truth: f64,
}

impl Comparison {
    /// Returns the reported value minus the true value.
    pub fn error(&self) -> f64 {
        self.reported - self.truth
    }

    /// Compares a statistic of two samples; absent if one of them has none.
    fn of(
        reported: &[f64],
        truth: &[f64],
        statistic: impl Fn(&[f64]) -> Option<f64>,
    ) -> Option<Self> {
        Some(Self { reported: statistic(reported)?, truth: statistic(truth)? })
    }
}

impl StreamFigures {
    /// Computes figures of records, each of which can be assigned to its true times.
    pub(super) fn of(load: &StreamLoad, observed: Observed<ObservedRun>) -> anyhow::Result<Self> {
        let Observed { result, account, .. } = observed;
        let verdict = result.verdict();
        let ObservedRun { records, cost, .. } = result;
        let busy = Duration::from_nanos(cost.wall_ns);
        let server_late_ms = server_late_ms(load, &account.truth);
        let pairs = Pairs::of(&records, account.truth)?;
        let times = Times::of(&pairs)?;
        let reads: usize = records.iter().map(reads).sum();
        let chunks = load.chunks() as f64;
        Ok(Self {
            p99_gap_error_ms: Some(p99_difference(&times.gaps).context(TOO_SHORT)?),
            chunks_per_read: Some(chunks / reads as f64),
            cpu_us_per_chunk: cost.cpu_ns as f64 / 1e3 / chunks,
            server_cpu_us_per_chunk: account.cpu_ns as f64 / 1e3 / chunks,
            server_late_ms,
            server_busy: server_busy(load, account.cpu_ns, busy),
            verdict,
            ..times.figures().context(TOO_SHORT)?
        })
    }

    /// Computes figures of a program's report. Its times cannot be assigned to requests, so its
    /// distributions are compared with the server's.
    pub(super) fn of_program(
        load: &StreamLoad,
        observed: Observed<ProgramRun>,
    ) -> anyhow::Result<Self> {
        let Observed { result, account, .. } = observed;
        let Reported { ttfts, gaps } = result.reported;
        let answered = ttfts.len();
        ensure!(answered == load.streams, "it reports {answered} of {} streams", load.streams);
        let server_late_ms = server_late_ms(load, &account.truth);
        let mut truth = (Vec::new(), Vec::new());
        for row in &account.truth {
            truth.0.push(*row.sent_ns.first().context(TOO_SHORT)? as f64 / 1e6);
            extend_with_gaps(&mut truth.1, &row.sent_ns);
        }
        let times = Times { ttfts: (ttfts, truth.0), gaps: (gaps, truth.1) };
        let chunks = load.chunks() as f64;
        Ok(Self {
            cpu_us_per_chunk: result.cpu.as_secs_f64() * 1e6 / chunks,
            server_cpu_us_per_chunk: account.cpu_ns as f64 / 1e3 / chunks,
            server_late_ms,
            server_busy: server_busy(load, account.cpu_ns, result.busy),
            ..times.figures().context(TOO_SHORT)?
        })
    }

    /// Returns whether the server, not the reader, was the limit: one chunk in a hundred was later
    /// than the next one was due, or the server was busy nearly all the time.
    pub fn is_server_limited(&self, load: &StreamLoad) -> bool {
        let late = |late| late > load.itl.as_secs_f64() * 1e3;
        self.server_late_ms.is_some_and(late) || self.server_busy.is_some_and(is_all)
    }
}

/// Returns whether a share of the time is nearly all of it.
pub(super) fn is_all(share: f64) -> bool {
    share > 0.9
}

/// Returns the share of the time in which the server was busy; only a server under a flood may
/// sleep, the others are always busy.
fn server_busy(load: &StreamLoad, cpu_ns: u64, busy: Duration) -> Option<f64> {
    load.is_flood().then(|| cpu_ns as f64 / 1e9 / busy.as_secs_f64())
}

/// Returns the 99th percentile of the server's lateness; absent for a flood, which has no schedule.
fn server_late_ms(load: &StreamLoad, truth: &[TruthRow]) -> Option<f64> {
    if load.is_flood() {
        return None;
    }
    let late = |row: &TruthRow| {
        let sent = row.sent_ns.clone().into_iter().enumerate();
        sent.map(|(chunk, sent_ns)| load.lateness_ms(chunk, sent_ns)).collect::<Vec<_>>()
    };
    p99(&sorted(truth.iter().flat_map(late).collect()))
}

/// Returns the number of reads of a stream: all chunks of one read have one stamp.
fn reads(record: &RequestRecord) -> usize {
    stamps(record).chunk_by(|one, next| one == next).count()
}

fn stamps(record: &RequestRecord) -> Vec<u64> {
    record.deltas.rows().map(|row| row.at.as_nanos()).collect()
}

/// Pairs of a stream's record and its true times.
struct Pairs<'a>(Vec<(&'a RequestRecord, SimulatedTimes)>);

impl<'a> Pairs<'a> {
    /// Pairs records with true times. A stream that failed, or whose number of chunks differs,
    /// makes the whole run invalid.
    fn of(records: &'a [RequestRecord], truth: Vec<TruthRow>) -> anyhow::Result<Self> {
        let truth = truth.into_iter().map(SimulatedTimes::from).map(|truth| (truth.key(), truth));
        let mut truth: HashMap<RequestKey, SimulatedTimes> = truth.collect();
        let mut pair = |record: &'a RequestRecord| {
            let index = record.index;
            if let Err(error) = &record.outcome {
                anyhow::bail!("stream {index} failed: {error}");
            }
            let truth = truth.remove(&record.key());
            let truth = truth.with_context(|| format!("no truth of {index}"))?;
            let same = record.deltas.len() == truth.sent_ns.len();
            ensure!(same, "stream {index} shows other chunks than sent");
            Ok((record, truth))
        };
        Ok(Self(records.iter().map(&mut pair).collect::<anyhow::Result<_>>()?))
    }
}

/// Pairs of reported and true times in milliseconds, in the same order.
struct Times {
    ttfts: (Vec<f64>, Vec<f64>),
    gaps: (Vec<f64>, Vec<f64>),
}

impl Times {
    fn of(pairs: &Pairs<'_>) -> anyhow::Result<Self> {
        let mut times = Self { ttfts: Default::default(), gaps: Default::default() };
        for (record, truth) in &pairs.0 {
            let arrived = stamps(record);
            let first = arrived.first().context(TOO_SHORT)?;
            let sent = record.started().as_nanos();
            times.ttfts.0.push(first.saturating_sub(sent) as f64 / 1e6);
            times.ttfts.1.push(*truth.sent_ns.first().context(TOO_SHORT)? as f64 / 1e6);
            extend_with_gaps(&mut times.gaps.0, &arrived);
            extend_with_gaps(&mut times.gaps.1, &truth.sent_ns);
        }
        Ok(times)
    }

    /// Computes the figures that depend on times alone.
    fn figures(self) -> Option<StreamFigures> {
        let Self { ttfts, gaps } = self;
        let mean_ttft = Comparison::of(&ttfts.0, &ttfts.1, statistics::mean)?;
        let mean_itl = Comparison::of(&gaps.0, &gaps.1, statistics::mean)?;
        Some(StreamFigures {
            mean_ttft,
            p99_ttft: Comparison::of(&sorted(ttfts.0), &sorted(ttfts.1), p99)?,
            mean_itl,
            p99_itl: Comparison::of(&sorted(gaps.0), &sorted(gaps.1), p99)?,
            p99_gap_error_ms: None,
            chunks_per_read: None,
            cpu_us_per_chunk: 0.0,
            server_cpu_us_per_chunk: 0.0,
            server_late_ms: None,
            server_busy: None,
            verdict: None,
        })
    }
}

fn p99_difference((reported, truth): &(Vec<f64>, Vec<f64>)) -> Option<f64> {
    let pairs = reported.iter().zip(truth);
    p99(&sorted(pairs.map(|(reported, truth)| (reported - truth).abs()).collect()))
}

fn extend_with_gaps(gaps: &mut Vec<f64>, nanos: &[u64]) {
    gaps.extend(nanos.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64 / 1e6));
}

pub(super) fn p99(sorted: &[f64]) -> Option<f64> {
    statistics::percentile(sorted, 99.0)
}

pub(super) fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values
}

const TOO_SHORT: &str = "no stream had two chunks";

#[cfg(test)]
mod tests {
    use servemark::core::{ClientCost, Delta, Finish, Phase, Recorder, Sample, Sink, Stamp};

    use super::super::Noise;
    use super::super::server::Account;
    use super::*;

    const MS: u64 = 1_000_000;

    /// Returns a stream that is sent at zero and has a chunk at each of these milliseconds.
    fn record(index: usize, arrivals_ms: &[u64]) -> RequestRecord {
        let sample = Sample::new("hi", 1, 4);
        let mut recorder = Recorder::new(index, Phase::Measure, &sample, Stamp::ZERO);
        recorder.record_sent(Stamp::ZERO);
        for at in arrivals_ms {
            recorder.at(Stamp::from_nanos(at * MS)).delta(Delta::content("x"));
        }
        recorder.finish(Ok(Finish::default()), Stamp::ZERO)
    }

    fn truth(index: usize, sent_ms: &[u64]) -> TruthRow {
        let sent_ns: Vec<u64> = sent_ms.iter().map(|ms| ms * MS).collect();
        let row = serde_json::json!({"index": index, "received": 5, "sent_ns": sent_ns});
        serde_json::from_value(row).unwrap()
    }

    fn figures(records: Vec<RequestRecord>, truth: Vec<TruthRow>) -> anyhow::Result<StreamFigures> {
        let result = ObservedRun { records, cost: ClientCost::new(80_000, 1), own: None };
        let account = Account { cpu_ns: 16_000, waited_ns: 0, truth };
        StreamFigures::of(&load(), Observed { result, account, noise: Noise::default() })
    }

    /// Returns a load of two streams of four chunks, due at 10, 20, 30 and 40 ms.
    fn load() -> StreamLoad {
        StreamLoad::new(2, 4, Duration::from_millis(10), Duration::from_millis(10))
    }

    #[test]
    fn errors_are_reported_minus_truth() {
        let records = vec![record(0, &[12, 20, 20, 40]), record(1, &[10, 22, 30, 40])];
        let sent = vec![truth(1, &[10, 20, 30, 40]), truth(0, &[10, 20, 30, 40])];
        let figures = figures(records, sent).unwrap();
        assert_eq!(figures.mean_ttft, Comparison { reported: 11.0, truth: 10.0 });
        let itl = figures.mean_itl;
        assert!((itl.error() + 1.0 / 3.0).abs() < 1e-9 && (itl.truth - 10.0).abs() < 1e-9);
        assert!((9.9..=10.0).contains(&figures.p99_gap_error_ms.unwrap()), "{figures:?}");
        assert_eq!((figures.cpu_us_per_chunk, figures.server_cpu_us_per_chunk), (10.0, 2.0));
        assert!((figures.chunks_per_read.unwrap() - 8.0 / 7.0).abs() < 1e-9);
        assert_eq!(figures.server_late_ms, Some(0.0));
    }

    #[test]
    fn a_server_that_falls_behind_limits_the_case() {
        let late = &[10, 21, 45, 60][..];
        let records = vec![record(0, late), record(1, late)];
        let figures = figures(records, vec![truth(0, late), truth(1, late)]).unwrap();
        assert!(figures.server_late_ms.unwrap() > 19.0, "{figures:?}");
        assert!(figures.is_server_limited(&load()));
        assert!(figures.p99_itl.error().abs() < 1e-9);
    }

    #[test]
    fn a_program_is_compared_by_its_distributions() {
        let sent = [10, 20, 30, 40];
        let reported = Reported { ttfts: vec![11.0, 14.0], gaps: vec![10.0; 6] };
        let (busy, cpu) = (Duration::from_millis(40), Duration::from_micros(160));
        let result = ProgramRun { reported, started: Stamp::ZERO, busy, cpu };
        let truth = vec![truth(0, &sent), truth(1, &sent)];
        let account = Account { cpu_ns: 16_000, waited_ns: 0, truth };
        let observed = Observed { result, account, noise: Noise::default() };
        let figures = StreamFigures::of_program(&load(), observed).unwrap();
        assert_eq!(figures.mean_ttft, Comparison { reported: 12.5, truth: 10.0 });
        assert!((figures.cpu_us_per_chunk - 20.0).abs() < 1e-9, "{figures:?}");
        assert_eq!((figures.p99_gap_error_ms, figures.chunks_per_read), (None, None));
    }

    #[test]
    fn a_run_that_lost_a_chunk_has_no_figures() {
        let lost = figures(vec![record(0, &[10, 20])], vec![truth(0, &[10, 20, 30])]);
        assert_eq!(lost.unwrap_err().to_string(), "stream 0 shows other chunks than sent");
    }
}
