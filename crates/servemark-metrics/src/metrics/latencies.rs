//! Summarises latencies over the requests that a policy selects.

use serde::Serialize;
use servemark_statistics::UnmetWaits;

use crate::estimates::{estimated, in_time};
use crate::policy::{EmptySample, MetricPolicy};
use crate::sampled::sampled_of;
use crate::{Latency, RequestPart, RequestScore, Summary};

/// Latencies from the policy's origin.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Latencies {
    /// Time to first token.
    pub ttft: Summary,
    /// Time from the first piece of output to the second.
    pub ttst: Summary,
    /// Time per output token after the first, one value per request.
    pub tpot: Summary,
    /// Inter-token latency, all requests in one sample.
    pub itl: Summary,
    /// End-to-end latency.
    pub e2el: Summary,
}

impl Latencies {
    /// Returns the summary of a latency; absent for latencies that are not from sending on.
    pub fn summary(&self, latency: Latency) -> Option<&Summary> {
        match latency {
            Latency::E2el => Some(&self.e2el),
            Latency::Itl => Some(&self.itl),
            Latency::Tpot => Some(&self.tpot),
            Latency::Ttft => Some(&self.ttft),
            Latency::Ttst => Some(&self.ttst),
            Latency::Own(_)
            | Latency::Part(_)
            | Latency::Queue
            | Latency::ResponseE2el
            | Latency::ResponseTtft => None,
        }
    }

    /// Summarises latencies. `waits` are waits in seconds that no request met.
    pub(crate) fn of(
        policy: &MetricPolicy,
        scores: &[RequestScore<'_>],
        waits: UnmetWaits,
    ) -> Self {
        let of = |latency| summary(latency, policy, scores, waits);
        Self {
            ttft: of(Latency::Ttft),
            ttst: of(Latency::Ttst),
            tpot: of(Latency::Tpot),
            itl: of(Latency::Itl),
            e2el: of(Latency::E2el),
        }
    }
}

/// A part of the requests' time, summarised over the requests in which it is known.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PartLatency {
    /// Name of the part.
    pub name: RequestPart,
    /// The summary.
    #[serde(flatten)]
    pub summary: Summary,
}

impl PartLatency {
    /// Summarises the parts that a policy lists.
    pub(crate) fn of(
        policy: &MetricPolicy,
        scores: &[RequestScore<'_>],
        waits: UnmetWaits,
    ) -> Vec<Self> {
        let of = |name| summary(Latency::Part(name), policy, scores, waits);
        policy.parts.iter().map(|&name| Self { name, summary: of(name) }).collect()
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
        let of = |latency| summary(latency, policy, scores, waits);
        Self { ttft: of(Latency::ResponseTtft), e2el: of(Latency::ResponseE2el) }
    }
}

/// Summarises a latency, with its confidence intervals.
fn summary<'a>(
    latency: Latency,
    policy: &MetricPolicy,
    scores: &'a [RequestScore<'a>],
    waits: UnmetWaits,
) -> Summary {
    let values = |score: &'a RequestScore<'a>| latency.values(score, policy.tpot);
    let sampled = || sampled_of(latency, policy, scores);
    let summary = match latency {
        // There are too many gaps to keep a copy of them.
        Latency::Itl => {
            let gaps = || sampled().flat_map(RequestScore::itl_sample);
            let with_gaps = sampled().filter(|score| score.itl_sample().next().is_some()).count();
            Summary::of_values(gaps, with_gaps, policy)
        }
        _ => Summary::of(&sampled().flat_map(values).collect::<Vec<f64>>(), policy),
    };
    let summary = if zero_if_empty(latency, policy) && summary.samples == 0 {
        Summary { samples: 0, ..Summary::of(&[0.0], policy) }
    } else {
        summary
    };
    let waits = if latency.has_waits() { waits } else { UnmetWaits::default() };
    estimated(summary, policy, waits, || latency.sample(&in_time(sampled()), policy.tpot))
}

/// Returns whether the policy takes the summary of a latency without any value for zero.
fn zero_if_empty(latency: Latency, policy: &MetricPolicy) -> bool {
    match policy.empty {
        EmptySample::Zero => latency != Latency::ResponseE2el,
        EmptySample::ZeroButE2el => !matches!(latency, Latency::E2el | Latency::ResponseE2el),
        EmptySample::Absent => false,
    }
}
