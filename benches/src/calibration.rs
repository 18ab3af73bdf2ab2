//! Calibration: simulates processes with a known truth, and counts how often intervals of their
//! runs, gates and searches miss it.

mod comparisons;
mod gates;
mod processes;
mod run_logs;
mod searches;
mod warm_up;

use std::fmt;

use servemark_rng::NumpyRandom;
use servemark_statistics::Observations;

pub use self::comparisons::{Comparisons, Design};
pub use self::gates::GateCell;
pub use self::processes::{Process, cells};
pub use self::run_logs::LogCell;
pub use self::searches::SearchCell;
pub use self::warm_up::WarmUp;

/// Results of runs of one process and one length.
#[derive(Clone, Debug)]
pub struct Cell {
    name: String,
    requests: usize,
    /// Results for the mean, the median and the 99th percentile.
    figures: [Tally; 3],
    /// Widths of the mean's intervals, divided by the textbook width for independent values.
    widths: Vec<f64>,
}

/// Number of refused intervals of a figure, and of intervals that miss the truth.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    runs: u32,
    refused: u32,
    missed: u32,
}

impl Cell {
    /// Head of the table whose rows are cells.
    pub const HEAD: &'static str = "\
| process | requests | mean: misses | refused | width | p50: misses | refused | p99: misses | refused |
|---|---|---|---|---|---|---|---|---|";

    /// Simulates runs and compares their intervals with the truth of the process.
    pub fn simulate(process: &Process, requests: usize, runs: u32) -> Self {
        let truth = process.truth(0);
        let mut cell = Self {
            name: process.name.to_owned(),
            requests,
            figures: [Tally::default(); 3],
            widths: Vec::new(),
        };
        for run in 0..runs {
            let values = process.run(requests, &mut NumpyRandom::seeded(FIRST_SEED + run));
            cell.add(&values.into_iter().collect(), truth);
        }
        cell.widths.sort_unstable_by(f64::total_cmp);
        cell
    }

    fn add(&mut self, sample: &Observations, truth: [f64; 3]) {
        let mean = sample.mean(CONFIDENCE);
        let [p50, p99] = [0.5, 0.99].map(|share| sample.percentile(share, CONFIDENCE));
        for ((tally, estimate), truth) in self.figures.iter_mut().zip([mean, p50, p99]).zip(truth) {
            tally.add(estimate.bounds.interval(), truth, MICROSECOND);
        }
        if let Some((low, high)) = mean.bounds.interval() {
            self.widths.push((high - low) / textbook_width(sample.values()));
        }
    }
}

impl Tally {
    /// Counts an interval. It misses the truth if it is farther away than `least`.
    fn add(&mut self, interval: Option<(f64, f64)>, truth: f64, least: f64) {
        self.runs += 1;
        match interval {
            None => self.refused += 1,
            Some((low, high)) if low - least <= truth && truth <= high + least => {}
            Some(_) => self.missed += 1,
        }
    }

    fn percent(&self, count: u32) -> f64 {
        100.0 * f64::from(count) / f64::from(self.runs.max(1))
    }
}

/// Displays two columns: the percentages of runs that miss and that are refused.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [missed, refused] = [self.missed, self.refused].map(|count| self.percent(count));
        write!(f, " {missed:.1} | {refused:.1} |")
    }
}

/// Returns the width of the 95 % interval for independent, normal values.
fn textbook_width(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    2.0 * 1.96 * (squares / (count - 1.0) / count).sqrt()
}

/// Displays a row of the table; shares are percentages of all runs.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| {} | {} |", self.name, self.requests)?;
        for (place, tally) in self.figures.iter().enumerate() {
            write!(f, "{tally}")?;
            if place == 0 {
                match self.widths.get(self.widths.len() / 2) {
                    Some(width) => write!(f, " {width:.2} |")?,
                    None => f.write_str(" - |")?,
                }
            }
        }
        Ok(())
    }
}

const CONFIDENCE: f64 = 0.95;
/// Difference in seconds below which times are equal to the stamps.
const MICROSECOND: f64 = 1e-6;
/// First seed of the runs of every cell. All cells use the same seeds, so that a table can be
/// reproduced.
const FIRST_SEED: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_independent_values_miss_as_rarely_as_they_say() {
        let process = cells().into_iter().find(|process| process.name == "log-normal").unwrap();
        let cell = Cell::simulate(&process, 400, 200);
        let [mean, ..] = cell.figures;
        assert!(mean.missed <= 20 && mean.refused <= 10, "{cell}");
    }

    #[test]
    fn a_queue_near_its_capacity_is_refused_and_not_guessed() {
        let process = cells().into_iter().find(|process| process.name == "M/D/16, 90 %").unwrap();
        let cell = Cell::simulate(&process, 1000, 60);
        let [mean, ..] = cell.figures;
        assert!(mean.missed <= 3 && mean.refused >= 50, "{cell}");
    }
}
