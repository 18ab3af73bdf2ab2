//! Counts how often a gate is wrong about an objective whose limit is the truth, and how often it
//! decides about one that is far from it.

use std::fmt;

use servemark::core::RunLog;
use servemark::metrics::{
    Evidence, JudgedPart, Judgement, Latency, MetricPolicy, Objective, SloVerdict, Statistic,
};
use servemark_rng::NumpyRandom;

use super::processes::Process;

/// Results of gates for one process and one length.
#[derive(Clone, Debug)]
pub struct GateCell {
    process: Process,
    requests: usize,
    runs: u32,
    /// Results for the mean, the median and the 99th percentile.
    figures: [Verdicts; 3],
}

/// Number of verdicts on one figure.
#[derive(Clone, Copy, Debug, Default)]
struct Verdicts {
    /// Objectives that held, with a limit just below the truth; `failed` counts those that failed
    /// just above it.
    held: u32,
    failed: u32,
    /// Objectives that held, with a limit far above the truth.
    held_far: u32,
    /// Objectives that failed, with a limit far below the truth.
    failed_far: u32,
}

impl GateCell {
    /// Head of the table whose rows are cells.
    pub const HEAD: &'static str = "\
| process | requests | mean: holds | fails | p50: holds | fails | p99: holds | fails | \
far: mean holds | fails | p50 holds | fails | p99 holds | fails |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|";

    /// Judges this number of runs.
    pub fn simulate(process: &Process, requests: usize, runs: u32) -> Self {
        let figures = [Verdicts::default(); 3];
        let mut cell = Self { process: *process, requests, runs, figures };
        let truth = process.truth(0);
        for run in 0..runs {
            cell.add(truth, &mut NumpyRandom::seeded(FIRST_SEED + run));
        }
        cell
    }

    fn add(&mut self, truth: [f64; 3], random: &mut NumpyRandom) {
        let log = self.process.run_log(self.requests, random);
        let ways = [1.0 - LEAST, 1.0 + LEAST, FAR, 1.0 / FAR];
        let [under, over, above, below] = ways.map(|factor| gate(truth, factor, &log));
        for (at, figure) in self.figures.iter_mut().enumerate() {
            figure.held += u32::from(under[at].verdict == SloVerdict::Holds);
            figure.failed += u32::from(over[at].verdict == SloVerdict::Fails);
            figure.held_far += u32::from(above[at].verdict == SloVerdict::Holds);
            figure.failed_far += u32::from(below[at].verdict == SloVerdict::Fails);
        }
    }
}

/// Judges a run by limits that are the truth times a factor.
fn gate(truth: [f64; 3], factor: f64, log: &RunLog) -> Vec<Judgement> {
    let statistics = [Statistic::Mean, Statistic::Median, Statistic::Percentile(99.0)];
    let limits = truth.map(|seconds| seconds * factor * 1e3);
    let objectives: Vec<Objective> = statistics
        .into_iter()
        .zip(limits)
        .map(|(statistic, limit)| Objective::at_most(Latency::Ttft, statistic, limit))
        .collect();
    let mut evidence = Evidence::of(&objectives);
    evidence.add(log, &MetricPolicy::native(), JudgedPart::Whole);
    evidence.gate(CONFIDENCE, None)
}

/// Displays a row of the table; shares are percentages of all runs.
impl fmt::Display for GateCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| {} | {} |", self.process.name, self.requests)?;
        let percent = |count: u32| 100.0 * f64::from(count) / f64::from(self.runs.max(1));
        for figure in self.figures {
            write!(f, " {:.1} | {:.1} |", percent(figure.held), percent(figure.failed))?;
        }
        for figure in self.figures {
            write!(f, " {:.0} | {:.0} |", percent(figure.held_far), percent(figure.failed_far))?;
        }
        Ok(())
    }
}

const CONFIDENCE: f64 = 0.95;
/// Relative distance of a limit from the truth, which may be the value of many requests.
const LEAST: f64 = 1e-4;
/// Factor between the truth and a limit that is far from it.
const FAR: f64 = 2.0;
/// First seed of the runs of every cell. All cells use the same seeds, so that a table can be
/// reproduced.
const FIRST_SEED: u32 = 9000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::cells;

    #[test]
    fn a_short_run_of_a_busy_queue_does_not_hold_its_own_percentile() {
        let process = cells().into_iter().find(|process| process.name == "M/D/16, 90 %").unwrap();
        let cell = GateCell::simulate(&process, 400, 40);
        let [mean, median, p99] = cell.figures;
        assert!(mean.held.max(median.held).max(p99.held) <= 2, "{cell}");
        assert!(mean.failed.max(median.failed).max(p99.failed) <= 2, "{cell}");
    }

    #[test]
    fn values_that_are_independent_are_decided() {
        let process = cells().into_iter().find(|process| process.name == "log-normal").unwrap();
        let cell = GateCell::simulate(&process, 1000, 40);
        let is_decided = |figure: &Verdicts| figure.held_far >= 34 && figure.failed_far >= 38;
        assert!(cell.figures.iter().all(is_decided), "{cell}");
    }
}
