//! The requests whose latencies are sampled, by the policy.

use crate::policy::{CountedRequests, FirstTokensOf};
use crate::{Latency, MetricPolicy, RequestScore};

/// Returns the requests whose values of a latency are sampled.
pub(crate) fn sampled_of<'a>(
    latency: Latency,
    policy: &MetricPolicy,
    scores: &'a [RequestScore<'a>],
) -> impl Iterator<Item = &'a RequestScore<'a>> {
    let needs_first = matches!(latency, Latency::Ttft | Latency::Ttst | Latency::Tpot);
    let with_first = needs_first.then(|| ttft_requests(policy, scores));
    let all = (!needs_first).then(|| sampled(policy, scores));
    with_first.into_iter().flatten().chain(all.into_iter().flatten())
}

/// Returns the requests whose latencies are sampled.
pub(crate) fn sampled<'a>(
    policy: &MetricPolicy,
    scores: &'a [RequestScore<'a>],
) -> impl Iterator<Item = &'a RequestScore<'a>> {
    let all = policy.latencies_of == CountedRequests::All;
    scores.iter().filter(move |score| score.success || all)
}

/// Returns the sampled requests whose time to first token counts: all of them, or only streamed
/// ones, by the policy.
pub(crate) fn ttft_requests<'a>(
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
