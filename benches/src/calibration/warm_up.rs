//! Counts how often a warm-up is detected where there is none, and where there is one.

use std::fmt;

use servemark_rng::NumpyRandom;
use servemark_statistics::{Settling, settling};

use super::{FIRST_SEED, Process};

/// Warm-ups found in runs of one process and one length: in the runs as they are, and with the
/// first fifth of their values doubled.
#[derive(Clone, Debug)]
pub struct WarmUp {
    name: String,
    requests: usize,
    plain: Tally,
    doubled: Tally,
}

/// Outcomes of the search for a settled part. A warm-up is a change of level in the first half.
#[derive(Clone, Debug, Default)]
struct Tally {
    runs: u32,
    warm_ups: u32,
    late_changes: u32,
    unknown: u32,
    /// Starts of the settled parts, as shares of the run.
    cuts: Vec<f64>,
}

impl WarmUp {
    /// Head of the table.
    pub const HEAD: &'static str = "\
| process | requests | steady run: warm-up | late change | unknown | first fifth doubled: warm-up | late change | unknown | cut at |
|---|---|---|---|---|---|---|---|---|";

    /// Names of the processes of the table.
    pub const PROCESSES: [&'static str; 8] = [
        "log-normal",
        "AR(1) 0.9",
        "M/D/16, 50 %",
        "M/D/16, 70 %",
        "M/D/16, 90 %",
        "M/G/16, 70 %",
        "batching engine, 60 %",
        "batching engine, 76 %",
    ];

    /// Simulates runs and looks for a warm-up in each.
    pub fn simulate(process: &Process, requests: usize, runs: u32) -> Self {
        let (mut plain, mut doubled) = (Tally::default(), Tally::default());
        for run in 0..runs {
            let mut values = process.run(requests, &mut NumpyRandom::seeded(FIRST_SEED + run));
            plain.add(&values);
            for value in &mut values[..requests / 5] {
                *value *= 2.0;
            }
            doubled.add(&values);
        }
        doubled.cuts.sort_unstable_by(f64::total_cmp);
        Self { name: process.name.to_owned(), requests, plain, doubled }
    }
}

impl Tally {
    fn add(&mut self, values: &[f64]) {
        self.runs += 1;
        match settling(values) {
            Settling::Steady => {}
            Settling::After { cut } => {
                self.warm_ups += 1;
                self.cuts.push(cut as f64 / values.len() as f64);
            }
            Settling::Unsettled { first, .. } if first <= values.len() / 2 => self.warm_ups += 1,
            Settling::Unsettled { .. } => self.late_changes += 1,
            Settling::Unknown => self.unknown += 1,
        }
    }
}

/// Displays the outcomes as `1.0 | 2.5 | 0.0 |`, in percent of the runs.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |count: u32| 100.0 * f64::from(count) / f64::from(self.runs.max(1));
        let shares = [self.warm_ups, self.late_changes, self.unknown].map(percent);
        shares.iter().try_for_each(|share| write!(f, " {share:.1} |"))
    }
}

/// Displays a row of the table. Shares are percentages of all runs; the cut is the median of those
/// that have one.
impl fmt::Display for WarmUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, requests, plain, doubled } = self;
        write!(f, "| {name} | {requests} |{plain}{doubled}")?;
        match doubled.cuts.get(doubled.cuts.len() / 2) {
            Some(cut) => write!(f, " {:.0} % |", cut * 100.0),
            None => f.write_str(" - |"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::cells;

    #[test]
    fn a_steady_queue_has_no_warm_up_and_a_slow_start_is_one() {
        let queue = cells().into_iter().find(|process| process.name == "M/D/16, 70 %").unwrap();
        let row = WarmUp::simulate(&queue, 1000, 200);
        assert!(row.plain.warm_ups <= 10, "{row}");
        assert!(row.doubled.warm_ups >= 180, "{row}");
    }
}
