//! Load of requests that are due independently of earlier answers.

use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use servemark::core::{RequestRecord, Sample, Stamp};
use servemark::metrics::{Verdict, statistics};
use servemark::mock::{MockSpec, TruthRow};
use servemark::rng::RandomState;
use servemark::runner::LoadSpec;
use servemark::schedule::ArrivalSpec;

use super::client::Client;
use super::exchanges::busy;
use super::experiment::Experiment;
use super::figures::{p99, sorted};
use super::load::numbered;
use super::program::{self, Program, Workload};
use super::test_bed::{TestBed, observe};
use super::{KolmogorovSmirnov, Reader, Run};

/// A Poisson process of requests with short answers.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct OpenLoad {
    /// Rate in requests per second.
    pub per_second: f64,
    /// Number of requests.
    pub requests: usize,
    /// Number of shards that send the requests.
    pub shards: NonZeroUsize,
    /// Whether a thread of its own watches the clock and writes the requests.
    #[serde(default)]
    pub precise: bool,
}

/// Figures of one run of a Poisson process.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct OpenFigures {
    /// Achieved rate divided by the rate that was asked for.
    pub achieved: f64,
    /// Largest lateness of a request by its drawn schedule, divided by that schedule's span; absent
    /// if the schedule is not known.
    pub worst_lag: Option<f64>,
    /// Median lateness of a request by its drawn schedule, in microseconds.
    pub median_late_us: Option<f64>,
    /// 99th percentile of the lateness, in microseconds.
    pub p99_late_us: Option<f64>,
    /// Test of whether the gaps between requests are exponential.
    pub gaps: KolmogorovSmirnov,
    /// Test of whether the drawn gaps are exponential.
    pub drawn_gaps: Option<KolmogorovSmirnov>,
    /// Verdict of the client's own audit of the run.
    pub verdict: Option<Verdict>,
}

impl OpenLoad {
    /// Creates a process of this rate that lasts this long.
    pub fn new(per_second: u32, lasts: Duration) -> Self {
        let requests = lasts.as_millis() as usize * per_second as usize / 1000;
        Self {
            per_second: f64::from(per_second),
            requests,
            shards: NonZeroUsize::MIN,
            precise: false,
        }
    }

    /// Sets the number of shards that send the requests.
    #[must_use]
    pub fn with_shards(self, shards: NonZeroUsize) -> Self {
        Self { shards, ..self }
    }

    /// Lets a thread that watches the clock write each request at its due time. That thread needs a
    /// core of its own: the client also gets the server's core, and the server then sleeps while
    /// nothing is due.
    #[must_use]
    pub fn sent_precisely(self) -> Self {
        Self { precise: true, ..self }
    }

    pub(super) fn title(&self) -> String {
        let title = format!("Poisson, {}/s", self.per_second);
        match self.shards.get() {
            _ if self.precise => format!("{title}, --precise-send"),
            1 => title,
            shards => format!("{title}, {shards} shards"),
        }
    }

    /// Computes figures from the times at which requests left, on any clock.
    fn figures(&self, left: Vec<Stamp>) -> anyhow::Result<OpenFigures> {
        let (gaps, rate) = gaps_and_rate(left)?;
        let gaps = KolmogorovSmirnov::of_gaps(&gaps, self.per_second).context(TOO_FEW)?;
        Ok(OpenFigures {
            achieved: rate / self.per_second,
            worst_lag: None,
            median_late_us: None,
            p99_late_us: None,
            gaps,
            drawn_gaps: None,
            verdict: None,
        })
    }

    /// Computes figures from the times at which requests left and were due.
    fn figures_of(&self, records: &[RequestRecord]) -> anyhow::Result<OpenFigures> {
        busy(records, self.requests)?;
        let left = records.iter().map(RequestRecord::started).collect();
        let due: Vec<Stamp> = records.iter().map(|record| record.scheduled).collect();
        let late = |record: &RequestRecord| record.started().since(record.scheduled);
        let late = sorted(records.iter().map(|record| late(record).as_secs_f64() * 1e6).collect());
        let span = span(&due).context(TOO_FEW)?.as_secs_f64() * 1e6;
        let (drawn, _) = gaps_and_rate(due)?;
        Ok(OpenFigures {
            worst_lag: late.last().map(|worst| worst / span),
            median_late_us: statistics::median(&late),
            p99_late_us: p99(&late),
            drawn_gaps: KolmogorovSmirnov::of_gaps(&drawn, self.per_second),
            ..self.figures(left)?
        })
    }
}

impl Experiment for OpenLoad {
    type Figures = OpenFigures;

    fn name(&self) -> String {
        let name = format!("poisson-{}", self.per_second);
        match self.shards.get() {
            _ if self.precise => format!("{name}-precise"),
            1 => name,
            shards => format!("{name}-shards-{shards}"),
        }
    }

    fn readers(&self) -> &'static [Reader] {
        &[Reader::Chat]
    }

    fn lasts(&self, reader: Reader) -> Duration {
        let starting = match reader {
            Reader::Program(program) => program.time_budget().0,
            _ => SETTING_UP,
        };
        starting + Duration::from_secs_f64(self.requests as f64 / self.per_second)
    }

    fn workload(&self, _program: Program) -> Option<Workload> {
        let usual = self.shards.get() == 1 && !self.precise;
        usual.then(|| Workload::new(self.requests, 5, 1).at_rate(self.per_second))
    }

    fn run(&self, reader: Reader, bed: &TestBed<'_>) -> anyhow::Result<Run<OpenFigures>> {
        let spec = MockSpec::new(TTFT, Duration::ZERO);
        let mut server = if self.precise { bed.server(&spec)? } else { bed.punctual_server(spec)? };
        if let Reader::Program(program) = reader {
            let workload = self.workload(program).context("it cannot send this")?;
            let observed = program::observe(program, &workload, bed, &mut server)?;
            let received = |row: &TruthRow| row.received;
            let left = observed.account.truth.iter().map(received).collect();
            return Ok(Run { figures: self.figures(left)?, noise: observed.noise });
        }
        let arrivals = ArrivalSpec::at_rate(self.per_second)?;
        let mut random = RandomState::seeded(SEED);
        let schedule = arrivals.schedule(&vec![None; self.requests], &mut random)?;
        let samples = numbered(&Sample::new("Tell me a story.", 5, 1), self.requests);
        let mut load = LoadSpec::new(arrivals);
        (load.shards, load.precise_send) = (Some(self.shards), self.precise);
        let send = || {
            let client = Client::new(reader, server.url(), CONNECTIONS)?;
            let client = if self.precise { client.precise()? } else { client };
            observe(&mut server, || client.run(&load, samples, &schedule))
        };
        let observed = if self.precise { bed.on_both_cores(send)? } else { send()? };
        let verdict = observed.result.verdict();
        let figures = OpenFigures { verdict, ..self.figures_of(&observed.result.records)? };
        Ok(Run { figures, noise: observed.noise })
    }
}

/// Returns the sorted gaps between instants, in seconds, and the instants' mean rate.
fn gaps_and_rate(mut instants: Vec<Stamp>) -> anyhow::Result<(Vec<f64>, f64)> {
    ensure!(instants.len() > 1, TOO_FEW);
    instants.sort_unstable();
    let gap = |pair: &[Stamp]| pair[1].since(pair[0]).as_secs_f64();
    let gaps: Vec<f64> = instants.windows(2).map(gap).collect();
    let span = span(&instants).context(TOO_FEW)?.as_secs_f64();
    let rate = gaps.len() as f64 / span;
    Ok((sorted(gaps), rate))
}

fn span(instants: &[Stamp]) -> Option<Duration> {
    Some(instants.iter().max()?.since(*instants.iter().min()?))
}

const TOO_FEW: &str = "too few requests have no gaps";
const SETTING_UP: Duration = Duration::from_millis(400);

/// Time from a request to its only token: some fifty requests are in flight at the highest rate.
const TTFT: Duration = Duration::from_millis(5);
const CONNECTIONS: usize = 256;
const SEED: u64 = 1;

#[cfg(test)]
mod tests {
    use servemark::core::{Finish, Phase, Recorder};

    use super::*;

    fn record(index: usize, due_us: u64, left_us: u64) -> RequestRecord {
        let [due, left] = [due_us, left_us].map(|us| Stamp::from_nanos(us * 1000));
        let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("hi", 1, 1), due);
        recorder.record_sent(left);
        recorder.finish(Ok(Finish::default()), left)
    }

    #[test]
    fn lateness_is_by_the_drawn_schedule() {
        let load = OpenLoad { per_second: 100.0, ..OpenLoad::new(1, Duration::from_secs(3)) };
        let records = [record(0, 0, 30), record(2, 20_000, 20_010), record(1, 10_000, 10_040)];
        let figures = load.figures_of(&records).unwrap();
        assert!((figures.worst_lag.unwrap() - 0.002).abs() < 1e-12, "{figures:?}");
        assert!((figures.median_late_us.unwrap() - 30.0).abs() < 1e-9, "{figures:?}");
        assert!((figures.achieved - 1.001).abs() < 1e-3, "{figures:?}");
        let beat = 1.0 - (-1.0_f64).exp();
        assert!((figures.drawn_gaps.unwrap().distance - beat).abs() < 1e-9, "{figures:?}");
    }

    #[test]
    fn one_request_has_no_rate() {
        let load = OpenLoad { per_second: 100.0, ..OpenLoad::new(1, Duration::from_secs(1)) };
        assert_eq!(load.figures_of(&[record(0, 0, 1)]).unwrap_err().to_string(), TOO_FEW);
    }
}
