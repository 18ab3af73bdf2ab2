//! Detects a growing backlog.

use std::fmt;

use serde::{Serialize, Serializer};
use servemark_statistics::rises;

use crate::estimates::in_time;
use crate::{Latency, RequestScore, statistics};

/// A trend of responses that became later and later.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BacklogTrend {
    /// The latency that grew.
    #[serde(serialize_with = "by_name")]
    pub of: Latency,
    /// Change from the first judged request to the last, as a share of the mean latency.
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

    /// Returns growth common to all long runs, if it is neither chance nor small.
    ///
    /// A run that is at most half as long as the longest is left out: it begins with an empty queue, so
    /// several short runs rise alike under any load near the capacity.
    pub(super) fn growth(&self, of: Latency) -> Option<BacklogTrend> {
        let longest = self.runs.iter().map(Vec::len).max()?;
        let long = self.runs.iter().filter(|run| 2 * run.len() > longest);
        let runs: Vec<Vec<f64>> = long.map(|run| batch_means(run)).collect();
        let steps: Vec<f64> =
            runs.iter().flat_map(|run| run.windows(2).map(|pair| pair[1] - pair[0])).collect();
        let mean = statistics::mean(&runs.concat())?;
        let share = steps.iter().sum::<f64>() / runs.len() as f64 / mean;
        let is_significant = share > WORTH_TELLING && rises(&steps, SURE);
        is_significant.then_some(BacklogTrend { of, share })
    }
}

/// Returns the means of consecutive parts of a run.
fn batch_means(run: &[f64]) -> Vec<f64> {
    let parts = BATCHES.min(run.len());
    let part = |at: usize| &run[at * run.len() / parts..(at + 1) * run.len() / parts];
    (0..parts).filter_map(|at| statistics::mean(part(at))).collect()
}

/// Returns how much the responses of a run became later, from its scored requests.
pub(crate) fn growth_of(scores: &[RequestScore<'_>]) -> Option<BacklogTrend> {
    growth_after(scores, |score| score.waited_s)
}

/// Returns how much the responses of a run became later, without the delays of the client itself.
pub(crate) fn growth_at_server(scores: &[RequestScore<'_>]) -> Option<BacklogTrend> {
    growth_after(scores, |score| score.gate_wait_s)
}

/// Returns how much the responses of a run became later, if `wait_s` of each request counts besides its
/// latency.
fn growth_after(
    scores: &[RequestScore<'_>],
    wait_s: fn(&RequestScore<'_>) -> f64,
) -> Option<BacklogTrend> {
    let scores = in_time(scores.iter());
    let series = |values: &mut dyn Iterator<Item = f64>| {
        let mut series = Series::default();
        series.add(values);
        series
    };
    let first = |score: &&RequestScore<'_>| Some(wait_s(score) + score.ttft_s?);
    let ttft = series(&mut scores.iter().filter_map(first));
    ttft.growth(Latency::ResponseTtft).or_else(|| {
        let ends = scores.iter().filter(|score| score.success);
        let e2el = series(&mut ends.map(|score| wait_s(score) + score.latency_s));
        e2el.growth(Latency::ResponseE2el)
    })
}

impl fmt::Display for BacklogTrend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.of {
            Latency::ResponseTtft => "first tokens",
            _ => "answers",
        };
        write!(f, "{what} came later and later, by {:.0} % of their mean", self.share * 100.0)
    }
}

fn by_name<S: Serializer>(measure: &Latency, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(measure.name())
}

/// Least growth, as a share of the mean, that is reported.
const WORTH_TELLING: f64 = 0.1;
/// Confidence that there is a rise at all. In 60 s of an M/D/16 queue that starts empty, a rise is
/// reported in 1.5 % of the runs at 95 % of the capacity (0.3 % of stationary ones) and in 96 % at
/// 110 %.
const SURE: f64 = 0.965;
/// Number of parts into which a run is split. Fewer steps miss a drift; more parts are shorter than
/// the time over which a queue's length is correlated.
const BATCHES: usize = 20;
