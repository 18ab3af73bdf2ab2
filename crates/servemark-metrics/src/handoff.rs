//! Compares the first gap of an answer with its other gaps: the cost of handing a request on from
//! the server that processed its prompt to the one that decodes.

use serde::Serialize;

use crate::sampled::sampled;
use crate::{Distribution, MetricPolicy, RequestScore, statistics};

/// First gap of an answer compared with its other gaps, in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Handoff {
    /// Gaps after the first, all requests in one sample.
    pub steady_itl_ms: Distribution,
    /// First gap of each request.
    pub latency_ms: Distribution,
    /// Excess of the first gap over the median of the request's other gaps; zero if the first gap
    /// is shorter.
    pub overhead_ms: Distribution,
}

impl Handoff {
    /// Computes the figures from a run's answers.
    pub fn of(scores: &[RequestScore<'_>], policy: &MetricPolicy) -> Self {
        let requests = || sampled(policy, scores);
        let steady = requests().flat_map(|score| score.itl_s.iter().skip(1));
        let first = requests().filter_map(|score| score.itl_s.iter().next());
        let of = |sample: &mut dyn Iterator<Item = f64>| {
            Distribution::of(sample.map(|seconds| seconds * 1000.0), policy)
        };
        Self {
            steady_itl_ms: of(&mut { steady }),
            latency_ms: of(&mut { first }),
            overhead_ms: of(&mut requests().filter_map(overhead_s)),
        }
    }
}

fn overhead_s(score: &RequestScore<'_>) -> Option<f64> {
    let mut gaps = score.itl_s.iter();
    let first = gaps.next()?;
    let mut others: Vec<f64> = gaps.collect();
    servemark_statistics::sort(&mut others);
    Some((first - statistics::median(&others)?).max(0.0))
}
