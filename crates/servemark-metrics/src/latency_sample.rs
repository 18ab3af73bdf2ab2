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

    /// Returns the sample of the latency from requests in the order of time.
    pub(crate) fn sample(self, scores: &[&RequestScore<'_>], tpot: TpotRule) -> Sample {
        let (mut sample, lengths) = (Sample::default(), AnswerLengths::of(scores.iter().copied()));
        for score in scores {
            match self {
                Self::E2el => lengths.add_e2el(&mut sample, score, 0.0),
                Self::Itl | Self::Tpot | Self::Ttft => sample.push(self.values(score, tpot)),
            }
        }
        sample
    }
}

/// The lengths of the answers of a run, which hide in end-to-end latencies how the server slows down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerLengths {
    /// Mean number of tokens after the first.
    mean: f64,
}

impl AnswerLengths {
    pub(crate) fn of<'a, 's: 'a>(scores: impl Iterator<Item = &'a RequestScore<'s>>) -> Self {
        let tokens: Vec<f64> = scores.map(after_first).collect();
        Self { mean: tokens.iter().sum::<f64>() / tokens.len().max(1) as f64 }
    }

    /// Adds the end-to-end latency of the next request to a sample in the order of time, counted from
    /// `waited_s` seconds before it was sent. A known part of it is the latency that its wait and its
    /// time per token would give an answer of the mean length.
    pub(crate) fn add_e2el(self, sample: &mut Sample, score: &RequestScore<'_>, waited_s: f64) {
        let whole = waited_s + score.latency_s;
        let Some(first) = score.ttft_s else { return sample.push([whole]) };
        let rest = score.latency_s - first;
        let tokens = after_first(score);
        let of_mean_length = if tokens > 0.0 { rest * self.mean / tokens } else { rest };
        sample.push_with_part(whole, waited_s + first + of_mean_length);
    }
}

fn after_first(score: &RequestScore<'_>) -> f64 {
    score.output_token_count().saturating_sub(1) as f64
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
