//! The requests that a latency is sampled from, and the values of each.

use servemark_statistics::Sample;

use crate::metrics::{begun, sampled};
use crate::policy::TpotRule;
use crate::{GapsIter, Latency, MetricPolicy, RequestScore};

impl Latency {
    /// Returns the requests that the latency is sampled from, in the order of the plan.
    pub fn sampled<'a>(
        self,
        policy: &MetricPolicy,
        scores: &'a [RequestScore<'a>],
    ) -> Vec<&'a RequestScore<'a>> {
        match self {
            Self::Ttft | Self::Tpot => begun(policy, scores).collect(),
            Self::E2el | Self::Itl => sampled(policy, scores).collect(),
        }
    }

    /// Returns the values of one request in seconds: one for each gap between tokens, at most one
    /// for any other latency.
    pub fn values<'a>(self, score: &'a RequestScore<'_>, tpot: TpotRule) -> LatencyValues<'a> {
        LatencyValues(match self {
            Self::E2el => Source::One(Some(score.latency_s)),
            Self::Itl => Source::Gaps(score.itl_sample()),
            Self::Tpot => Source::One(score.tpot_s(tpot)),
            Self::Ttft => Source::One(score.ttft_s),
        })
    }

    /// Adds the values of the next request to a sample in the order of time.
    pub(crate) fn add_to(self, sample: &mut Sample, score: &RequestScore<'_>, tpot: TpotRule) {
        match self {
            Self::E2el => add_e2el(sample, score, 0.0),
            Self::Itl | Self::Tpot | Self::Ttft => sample.push(self.values(score, tpot)),
        }
    }
}

/// Adds the end-to-end latency of the next request to a sample in the order of time, counted from
/// `waited_s` seconds before it was sent. Its time to first token is a known part: it has the waits in
/// the server's queue, which the lengths of answers hide in the whole.
pub(crate) fn add_e2el(sample: &mut Sample, score: &RequestScore<'_>, waited_s: f64) {
    let whole = waited_s + score.latency_s;
    match score.ttft_s {
        Some(first) => sample.push_with_part(whole, waited_s + first),
        None => sample.push([whole]),
    }
}

/// Iterator over the values that one request adds to the sample of a latency, in seconds.
#[derive(Clone, Debug)]
pub struct LatencyValues<'a>(Source<'a>);

#[derive(Clone, Debug)]
enum Source<'a> {
    Gaps(GapsIter<'a>),
    One(Option<f64>),
}

impl Iterator for LatencyValues<'_> {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        match &mut self.0 {
            Source::Gaps(gaps) => gaps.next(),
            Source::One(value) => value.take(),
        }
    }
}
