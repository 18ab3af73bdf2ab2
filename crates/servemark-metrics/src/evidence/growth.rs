//! Whether a backlog grew.

use std::fmt;

use serde::{Serialize, Serializer};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::column::{batches_of_each, split};
use crate::objective::Measure;
use crate::statistics;

/// Responses that came later and later.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Growth {
    /// Which latency grew.
    #[serde(serialize_with = "by_name")]
    pub of: Measure,
    /// By how much from the first request that was judged to the last, as a share of its mean.
    pub share: f64,
}

/// A latency of requests in the order in which they were sent, run by run.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    runs: Vec<Vec<f64>>,
}

impl Series {
    pub(super) fn add(&mut self, values: impl Iterator<Item = f64>) {
        self.runs.push(values.collect());
    }

    /// Growth that is neither chance nor small: the slope of the means of batches, common to all
    /// runs, by Student's t.
    pub(super) fn growth(&self, of: Measure) -> Option<Growth> {
        let line = Line::through(&self.means());
        let share = line.slope / line.mean?;
        let student = StudentsT::new(0.0, 1.0, line.free).ok()?;
        let is_chance = line.statistic < student.inverse_cdf(SURE);
        (share > WORTH_TELLING && !is_chance).then_some(Growth { of, share })
    }

    /// The means of each run's batches.
    fn means(&self) -> Vec<Vec<f64>> {
        let parts = batches_of_each(self.runs.len());
        let mean = |batch| statistics::mean(batch).unwrap_or_default();
        self.runs.iter().map(|run| split(run, parts).map(mean).collect()).collect()
    }
}

/// A straight line through the points of several runs, each at a height of its own.
struct Line {
    /// By how much it rises from the start of a run to its end.
    slope: f64,
    /// The mean of all points.
    mean: Option<f64>,
    /// The slope over its standard error.
    statistic: f64,
    /// Degrees of freedom.
    free: f64,
}

impl Line {
    fn through(runs: &[Vec<f64>]) -> Self {
        let points: Vec<(f64, f64)> = runs.iter().flat_map(|run| centred(run)).collect();
        let squares: f64 = points.iter().map(|(x, _)| x * x).sum();
        let slope = points.iter().map(|(x, y)| x * y).sum::<f64>() / squares;
        let rest: f64 = points.iter().map(|(x, y)| (y - slope * x).powi(2)).sum();
        let free = points.len() as f64 - runs.len() as f64 - 1.0;
        let error = (rest / free / squares).sqrt();
        Self { slope, mean: statistics::mean(&runs.concat()), statistic: slope / error, free }
    }
}

/// A run's points with both their means taken off; its time is one.
fn centred(run: &[f64]) -> Vec<(f64, f64)> {
    let mean = statistics::mean(run).unwrap_or_default();
    let place = |index: usize| (index as f64 + 0.5) / run.len() as f64 - 0.5;
    run.iter().enumerate().map(|(index, value)| (place(index), value - mean)).collect()
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.of {
            Measure::ResponseTtft => "first tokens",
            _ => "answers",
        };
        write!(f, "{what} came later and later, by {:.0} % of their mean", self.share * 100.0)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields by reference")]
fn by_name<S: Serializer>(measure: &Measure, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(measure.name())
}

/// A rise of less than this share of the mean is not held against a server.
const WORTH_TELLING: f64 = 0.1;
/// How sure it must be that it is a rise at all.
const SURE: f64 = 0.99;
