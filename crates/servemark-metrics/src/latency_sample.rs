//! The requests that a latency is sampled from, and the values of each.

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
