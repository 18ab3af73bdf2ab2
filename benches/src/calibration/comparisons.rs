//! Counts how often runs of one server are called different, and how often a change of the
//! detectable size is detected.

use std::fmt;
use std::time::Duration;

use servemark::core::{
    Delta, Finish, Footer, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog, Sample, Sink,
    Stamp, Usage,
};
use servemark::metrics::{
    ComparedRun, Comparison, Figure, Latency, MetricPolicy, Quantity, Significance, Statistic,
};
use servemark_rng::NumpyRandom;

use super::Process;

/// Results of comparisons of runs of one process.
#[derive(Clone, Debug)]
pub struct Comparisons {
    name: String,
    design: Design,
    count: u32,
    /// Number of 99 % intervals that exclude the truth of no change, by figure.
    missed: [u32; 3],
    /// Number of comparisons without an interval, by figure.
    refused: [u32; 3],
    /// Number of comparisons in which any figure is called better or worse.
    any: u32,
    /// Number of comparisons with an interval that detect a change of the mean of the size that
    /// they claim to detect with a probability of 80 %.
    observed: u32,
}

/// Design of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Design {
    /// Number of requests of a run.
    pub requests: usize,
    /// Number of runs on each side.
    pub runs: usize,
    /// Standard deviation between runs, in percent of every latency.
    pub spread_percent: f64,
}

impl Comparisons {
    /// Head of the table.
    pub const HEAD: &'static str = "\
| process | requests | runs a side | between runs | mean: false | refused | p50: false | refused | p99: false | refused | any figure | power |
|---|---|---|---|---|---|---|---|---|---|---|---|";

    /// Names of the processes of the table.
    pub const PROCESSES: [&'static str; 8] = [
        "log-normal",
        "bimodal",
        "Pareto 2.5",
        "AR(1) 0.9",
        "M/D/16, 50 %",
        "M/D/16, 70 %",
        "closed loop of 48",
        "batching engine, 60 %",
    ];

    /// Returns the designs of the table.
    pub fn designs() -> Vec<Design> {
        let alone = |requests| Design { requests, runs: 1, spread_percent: 0.0 };
        let several = |spread_percent| Design { requests: 400, runs: 5, spread_percent };
        vec![alone(400), alone(1000), several(0.0), several(1.0), several(2.0)]
    }

    /// Compares runs with other runs of the same process, and with slowed-down copies of those.
    pub fn simulate(process: &Process, design: Design, comparisons: u32) -> Self {
        let mut outcome = Self {
            name: process.name.to_owned(),
            design,
            count: comparisons,
            missed: [0; 3],
            refused: [0; 3],
            any: 0,
            observed: 0,
        };
        for number in 0..comparisons {
            let mut random = NumpyRandom::seeded(FIRST_SEED + number);
            let mut side = || -> Vec<Vec<f64>> {
                (0..design.runs).map(|_| design.run(process, &mut random)).collect()
            };
            let (before, after) = (side(), side());
            outcome.add(&before, &after, &FIGURES);
        }
        outcome
    }

    fn add(&mut self, before: &[Vec<f64>], after: &[Vec<f64>], figures: &[Figure; 3]) {
        let before = compared(before, 1.0, figures);
        let comparison = Comparison::of_runs(&before, &compared(after, 1.0, figures), figures);
        let is_called = |worth| matches!(worth, Significance::Better | Significance::Worse);
        self.any +=
            u32::from(comparison.changes.iter().any(|change| is_called(change.significance())));
        for (place, change) in comparison.changes.iter().enumerate() {
            match change.interval {
                None => self.refused[place] += 1,
                Some(interval) if interval.low_percent > 0.0 || interval.high_percent < 0.0 => {
                    self.missed[place] += 1;
                }
                Some(_) => {}
            }
        }
        let Some(percent) = comparison.changes[0].detectable_percent else { return };
        let slower = compared(after, 1.0 + percent / 100.0, figures);
        let comparison = Comparison::of_runs(&before, &slower, figures);
        let interval = comparison.changes[0].interval;
        self.observed += u32::from(interval.is_some_and(|interval| interval.low_percent > 0.0));
    }
}

impl Design {
    fn run(&self, process: &Process, random: &mut NumpyRandom) -> Vec<f64> {
        let own = 1.0 + self.spread_percent / 100.0 * random.normal(0.0, 1.0);
        process.run(self.requests, random).into_iter().map(|value| value * own).collect()
    }
}

fn compared(side: &[Vec<f64>], factor: f64, figures: &[Figure]) -> Vec<ComparedRun> {
    let run = |values: &Vec<f64>| {
        let run = ComparedRun::of_log(&log(values, factor), &MetricPolicy::native(), figures);
        if side.len() > 1 { run.without_requests() } else { run }
    };
    side.iter().map(run).collect()
}

/// Returns a log of requests that are due 10 ms apart and whose times to first token are `factor`
/// times these values.
fn log(values: &[f64], factor: f64) -> RunLog {
    let records = values.iter().enumerate();
    let records: Vec<RequestRecord> =
        records.map(|(index, value)| record(index, value * factor)).collect();
    let mut facts = RunFacts::default();
    facts.requests = records.len();
    let mut footer = Footer::default();
    footer.ended = records.iter().map(|record| record.ended).max().unwrap_or_default();
    RunLog::new(Header::new(0, facts, serde_json::Value::Null), records, Some(footer))
}

fn record(index: usize, seconds: f64) -> RequestRecord {
    let due = Stamp::ZERO + Duration::from_millis(10) * index as u32;
    let first = due + Duration::from_secs_f64(seconds.max(0.0));
    // Prompt lengths differ from run to run, so that requests are not compared in pairs.
    let tokens = 100 + (seconds.to_bits() % 1000) as u32;
    let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", tokens, 1), due);
    recorder.record_sent(due);
    recorder.body(first, 1);
    recorder.at(first).delta(Delta::content("x").with_tokens(Some(1)));
    recorder.at(first).usage(Usage::new(Some(tokens), Some(1)));
    recorder.finish(Ok(Finish::default()), first)
}

/// Displays a row of the table. Shares are percentages of all comparisons; power is a share of
/// those with an interval.
impl fmt::Display for Comparisons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Design { requests, runs, spread_percent } = self.design;
        write!(f, "| {} | {requests} | {runs} | {spread_percent} % |", self.name)?;
        let percent = |count: u32, of: u32| 100.0 * f64::from(count) / f64::from(of.max(1));
        for (missed, refused) in self.missed.into_iter().zip(self.refused) {
            let [missed, refused] = [missed, refused].map(|count| percent(count, self.count));
            write!(f, " {missed:.1} | {refused:.1} |")?;
        }
        write!(f, " {:.1} |", percent(self.any, self.count))?;
        match self.count - self.refused[0] {
            0 => f.write_str(" - |"),
            nominal => write!(f, " {:.2} |", f64::from(self.observed) / f64::from(nominal)),
        }
    }
}

const FIGURES: [Figure; 3] =
    [ttft(Statistic::Mean), ttft(Statistic::Median), ttft(Statistic::Percentile(99.0))];

const fn ttft(statistic: Statistic) -> Figure {
    Figure::new(Quantity::Latency(Latency::Ttft, statistic))
}

/// First seed of the comparisons. The seeds are fixed, so that a table can be reproduced.
const FIRST_SEED: u32 = 50_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::cells;

    #[test]
    fn runs_of_one_server_are_rarely_called_different() {
        let process = cells().into_iter().find(|process| process.name == "log-normal").unwrap();
        for design in [
            Design { requests: 400, runs: 1, spread_percent: 0.0 },
            Design { requests: 200, runs: 4, spread_percent: 2.0 },
        ] {
            let outcome = Comparisons::simulate(&process, design, 60);
            assert!(outcome.any <= 3 && outcome.missed[0] <= 4, "{outcome}");
            // The change that is said to be seen in 80 % of comparisons leaves room for slow
            // requests that no run met, so independent runs show it more often. Each side of a
            // comparison is refused in up to 4 % of runs of independent values.
            assert!(outcome.refused[0] <= 6 && outcome.observed >= 30, "{outcome}");
        }
    }
}
