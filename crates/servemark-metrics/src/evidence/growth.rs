//! Whether a backlog grew.

use std::fmt;

use serde::{Serialize, Serializer};
use servemark_statistics::rises;

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

    /// Growth that is neither chance nor small, common to all runs.
    pub(super) fn growth(&self, of: Measure) -> Option<Growth> {
        let runs: Vec<Vec<f64>> = self.runs.iter().map(|run| batch_means(run)).collect();
        let steps: Vec<f64> =
            runs.iter().flat_map(|run| run.windows(2).map(|pair| pair[1] - pair[0])).collect();
        let mean = statistics::mean(&runs.concat())?;
        let share = steps.iter().sum::<f64>() / self.runs.len() as f64 / mean;
        let is_told = share > WORTH_TELLING && rises(&steps, SURE);
        is_told.then_some(Growth { of, share })
    }
}

/// The means of consecutive parts of a run.
fn batch_means(run: &[f64]) -> Vec<f64> {
    let parts = BATCHES.min(run.len());
    let part = |at: usize| &run[at * run.len() / parts..(at + 1) * run.len() / parts];
    (0..parts).filter_map(|at| statistics::mean(part(at))).collect()
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
/// How sure it must be that it is a rise at all. Of 60 s of an M/D/16 queue at 95 % of its capacity, from
/// empty, 1.5 % are taken for a rise (0.3 % of stationary ones), at 110 % 96 %.
const SURE: f64 = 0.965;
/// Parts into which a run is split. Of fewer steps a drift is missed; more are shorter than the time for
/// which a queue stays alike.
const BATCHES: usize = 20;
