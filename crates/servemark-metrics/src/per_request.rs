//! Sizes and speeds of single requests.

use serde::Serialize;

use crate::sampled::{sampled, ttft_requests};
use crate::{Distribution, MetricPolicy, RequestScore};

/// Distributions over single requests. A speed is that of one request alone: tokens divided by its
/// latency.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PerRequest {
    /// End-to-end latency in seconds.
    pub latency_s: Distribution,
    /// Prompt tokens.
    pub input_tokens: Distribution,
    /// Output tokens.
    pub output_tokens: Distribution,
    /// Prompt tokens per second.
    pub input_per_s: Distribution,
    /// Output tokens per second.
    pub output_per_s: Distribution,
    /// Prompt and output tokens per second.
    pub total_per_s: Distribution,
    /// Output tokens per second after the first token.
    pub decode_per_s: Distribution,
    /// Prompt tokens of all requests divided by the sum of their latencies, per second: the rate
    /// for a client that sends one request after the other.
    pub input_per_busy_s: Option<f64>,
    /// Mean number of tokens in a decoding step, over the requests with more tokens than steps.
    pub tokens_per_step: Option<f64>,
}

impl PerRequest {
    /// Computes the distributions of a run's requests by a policy's definitions.
    pub fn of(scores: &[RequestScore<'_>], policy: &MetricPolicy) -> Self {
        let of = |value: fn(&RequestScore<'_>) -> f64| {
            Distribution::of(sampled(policy, scores).map(value), policy)
        };
        let speed = |tokens: fn(&RequestScore<'_>) -> f64| {
            let took_time = sampled(policy, scores).filter(|score| score.latency_s > 0.0);
            Distribution::of(took_time.map(|score| tokens(score) / score.latency_s), policy)
        };
        let tpot = ttft_requests(policy, scores).filter_map(|score| score.tpot_s(policy.tpot));
        let decode = tpot.filter(|tpot| *tpot > 0.0).map(|tpot| 1.0 / tpot);
        let busy_s: f64 = sampled(policy, scores).map(|score| score.latency_s).sum();
        let prompts: f64 = sampled(policy, scores).map(input).sum();
        let steps =
            sampled(policy, scores).filter_map(tokens_per_step).filter(|yielded| *yielded > 1.0);
        Self {
            latency_s: of(|score| score.latency_s),
            input_tokens: of(input),
            output_tokens: of(output),
            input_per_s: speed(input),
            output_per_s: speed(output),
            total_per_s: speed(|score| input(score) + output(score)),
            decode_per_s: Distribution::of(decode, policy),
            input_per_busy_s: (busy_s > 0.0).then(|| prompts / busy_s),
            tokens_per_step: Distribution::of(steps, policy).mean,
        }
    }
}

fn input(score: &RequestScore<'_>) -> f64 {
    score.prompt_tokens.into()
}

fn output(score: &RequestScore<'_>) -> f64 {
    score.output_token_count() as f64
}

/// Returns the tokens after the first divided by the steps after the first.
fn tokens_per_step(score: &RequestScore<'_>) -> Option<f64> {
    let tokens = score.output_token_count().checked_sub(1).filter(|tokens| *tokens > 0)?;
    let steps = score.steps.checked_sub(1).filter(|steps| *steps > 0)?;
    Some(tokens as f64 / steps as f64)
}
