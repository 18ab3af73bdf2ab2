//! Summarises latencies over the requests that a policy selects.

use serde::Serialize;
use servemark_statistics::{Sample, UnmetWaits};

use crate::estimates::{estimated, in_time};
use crate::latency_sample::AnswerLengths;
use crate::policy::{Counted, EmptySample, FirstTokensOf, MetricPolicy};
use crate::{Latency, RequestScore, Summary};

/// Latencies from the policy's origin.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Latencies {
    /// Time to first token.
    pub ttft: Summary,
    /// Time per output token after the first, one value per request.
    pub tpot: Summary,
    /// Inter-token latency, all requests in one sample.
    pub itl: Summary,
    /// End-to-end latency.
    pub e2el: Summary,
}

impl Latencies {
    /// Returns the summary of a latency.
    pub fn summary(&self, latency: Latency) -> &Summary {
        match latency {
            Latency::E2el => &self.e2el,
            Latency::Itl => &self.itl,
            Latency::Tpot => &self.tpot,
            Latency::Ttft => &self.ttft,
        }
    }

    /// Summarises latencies. `waits` are waits in seconds that no request met.
    pub(crate) fn of(
        policy: &MetricPolicy,
        scores: &[RequestScore<'_>],
        waits: UnmetWaits,
    ) -> Self {
        let itl = || sampled(policy, scores).flat_map(RequestScore::itl_sample);
        let e2el: Vec<f64> = sampled(policy, scores).map(|score| score.latency_s).collect();
        let ttft: Vec<f64> = begun(policy, scores).filter_map(|score| score.ttft_s).collect();
        let tpot: Vec<f64> =
            begun(policy, scores).filter_map(|score| score.tpot_s(policy.tpot)).collect();
        let with_gaps = sampled(policy, scores).filter(|score| score.itl_sample().next().is_some());
        let with_gaps = with_gaps.count();
        let (all, with_first) = (in_time(sampled(policy, scores)), in_time(begun(policy, scores)));
        let itl = zero_if_empty(Summary::of_values(itl, with_gaps, policy), policy);
        let no_waits = UnmetWaits::default();
        let sample =
            |latency: Latency, scores: &[&RequestScore<'_>]| latency.sample(scores, policy.tpot);
        let (ttft, tpot) = (or_zero(&ttft, policy), or_zero(&tpot, policy));
        let e2el = e2el_or_zero(&e2el, policy);
        Self {
            ttft: estimated(ttft, policy, waits, || sample(Latency::Ttft, &with_first)),
            tpot: estimated(tpot, policy, no_waits, || sample(Latency::Tpot, &with_first)),
            itl: estimated(itl, policy, no_waits, || sample(Latency::Itl, &all)),
            e2el: estimated(e2el, policy, waits, || sample(Latency::E2el, &all)),
        }
    }
}

/// Latencies from when a request was due. They contain the client's own queue, so they are what a
/// user waits whose requests follow the schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ResponseTimes {
    /// Time from due to the first token.
    pub ttft: Summary,
    /// Time from due to the end of the answer.
    pub e2el: Summary,
}

impl ResponseTimes {
    pub(super) fn of(
        policy: &MetricPolicy,
        scores: &[RequestScore<'_>],
        waits: UnmetWaits,
    ) -> Self {
        let first = |score: &RequestScore<'_>| Some(score.waited_s + score.ttft_s?);
        let ttft: Vec<f64> = sampled(policy, scores).filter_map(first).collect();
        let e2el: Vec<f64> =
            sampled(policy, scores).map(|score| score.waited_s + score.latency_s).collect();
        let all = in_time(sampled(policy, scores));
        Self {
            ttft: estimated(or_zero(&ttft, policy), policy, waits, || {
                all.iter().filter_map(|score| first(score)).collect()
            }),
            e2el: estimated(Summary::of(&e2el, policy), policy, waits, || {
                let lengths = AnswerLengths::of(all.iter().copied());
                let mut sample = Sample::default();
                for score in &all {
                    lengths.add_e2el(&mut sample, score, score.waited_s);
                }
                sample
            }),
        }
    }
}

/// Returns the requests whose latencies are sampled.
pub(crate) fn sampled<'a>(
    policy: &MetricPolicy,
    scores: &'a [RequestScore<'a>],
) -> impl Iterator<Item = &'a RequestScore<'a>> {
    let all = policy.latencies_of == Counted::All;
    scores.iter().filter(move |score| score.success || all)
}

/// Returns the sampled requests whose time to first token counts: all of them, or only streamed
/// ones, by the policy.
pub(crate) fn begun<'a>(
    policy: &MetricPolicy,
    scores: &'a [RequestScore<'a>],
) -> impl Iterator<Item = &'a RequestScore<'a>> {
    let only_streamed = match policy.first_tokens_of {
        FirstTokensOf::All => false,
        FirstTokensOf::Streamed => sampled(policy, scores).any(|score| score.streamed),
        FirstTokensOf::StreamedAlone => true,
    };
    sampled(policy, scores).filter(move |score| score.streamed || !only_streamed)
}

fn or_zero(sample: &[f64], policy: &MetricPolicy) -> Summary {
    zero_if_empty(Summary::of(sample, policy), policy)
}

/// Summarises end-to-end latencies. Without any answer the summary is empty, not zero, unless the
/// policy of a peer demands zero.
fn e2el_or_zero(sample: &[f64], policy: &MetricPolicy) -> Summary {
    match policy.empty {
        EmptySample::Zero => or_zero(sample, policy),
        _ => Summary::of(sample, policy),
    }
}

fn zero_if_empty(summary: Summary, policy: &MetricPolicy) -> Summary {
    match policy.empty {
        EmptySample::Zero | EmptySample::ZeroButE2el if summary.samples == 0 => {
            Summary { samples: 0, ..Summary::of(&[0.0], policy) }
        }
        _ => summary,
    }
}
