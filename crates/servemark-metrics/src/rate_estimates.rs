//! Rates that server and arrivals sustain, with their confidence intervals.

use serde::Serialize;
use servemark_core::RunFacts;
use servemark_statistics::{Estimate, rate};

use crate::policy::MetricPolicy;
use crate::saturation::saturated;
use crate::{Estimated, RequestScore};

/// Rates that server and arrivals sustain, estimated without the beginning and the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RateEstimates {
    /// Requests per second.
    pub requests_per_s: Estimated,
    /// Output tokens per second.
    pub output_tokens_per_s: Estimated,
}

impl RateEstimates {
    /// Estimates the rates of a run at the policy's confidence; absent if too few requests show
    /// them.
    pub(crate) fn of(
        scores: &[RequestScore<'_>],
        policy: &MetricPolicy,
        limit: RateLimit,
    ) -> Option<Self> {
        let confidence = policy.confidence?;
        let flow = Flow::of(scores, limit)?;
        let estimated = |estimate: Estimate| Estimated::of(estimate, confidence);
        Some(Self {
            requests_per_s: estimated(flow.requests_per_s(confidence)),
            output_tokens_per_s: estimated(flow.output_tokens_per_s(confidence)),
        })
    }
}

/// What limits the rates of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum RateLimit {
    /// The arrivals: requests were due at a rate, and the server kept up.
    Arrivals,
    /// The server, or users who wait for their answers.
    Server,
}

impl RateLimit {
    /// Returns what limits the rates of a run. Later turns of a session are due when the earlier ones
    /// are answered, so the server limits them, too.
    pub(crate) fn of(facts: &RunFacts, scores: &[RequestScore<'_>]) -> Self {
        let is_saturated = || saturated(facts, scores).is_some();
        Self::from_saturation(facts, scores, is_saturated)
    }

    /// Returns what limits the rates of a run of which it is known, or can be found out, whether it
    /// was saturated.
    pub(crate) fn from_saturation(
        facts: &RunFacts,
        scores: &[RequestScore<'_>],
        is_saturated: impl FnOnce() -> bool,
    ) -> Self {
        let has_turns = scores.iter().any(|score| score.turn > 0);
        let is_open_loop = facts.request_rate.is_some() && !has_turns;
        if is_open_loop && !is_saturated() { Self::Arrivals } else { Self::Server }
    }
}

/// Requests and their tokens, one after the other, each with the time that belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// Time until the next request, in seconds.
    times: Vec<f64>,
    requests: Vec<f64>,
    prompt_tokens: Vec<f64>,
    output_tokens: Vec<f64>,
}

impl Flow {
    /// Collects the flow of a run; absent if too few requests show it.
    ///
    /// Where arrivals are the limit, it is that of all requests from when they were due until the
    /// next one was; answers that are still under way at the end of a run are part of it, so long
    /// ones are not missed. Otherwise it is that of the answers that ended after the first one did
    /// and before the last request started: before that time the load was not complete, and after it
    /// no more requests came.
    pub(crate) fn of(scores: &[RequestScore<'_>], limit: RateLimit) -> Option<Self> {
        let mut all: Vec<&RequestScore<'_>> = scores.iter().collect();
        let at: fn(&RequestScore<'_>) -> f64 = match limit {
            RateLimit::Arrivals => |score| score.start_s - score.waited_s,
            RateLimit::Server => |score| score.end_s(),
        };
        if limit == RateLimit::Server {
            let last_start = scores.iter().map(|score| score.start_s).fold(f64::MIN, f64::max);
            all.retain(|score| score.success && score.end_s() <= last_start);
        }
        all.sort_by(|one, other| at(one).total_cmp(&at(other)));
        let times: Vec<f64> = all.windows(2).map(|pair| at(pair[1]) - at(pair[0])).collect();
        // The time before an end belongs to the answer that ended, the time after a due time to the
        // request that was due.
        let counted = match limit {
            RateLimit::Arrivals => all.get(..times.len())?,
            RateLimit::Server => all.get(all.len() - times.len()..)?,
        };
        let amounts = |of: fn(&RequestScore<'_>) -> f64| {
            let amount = |score: &&RequestScore<'_>| if score.success { of(score) } else { 0.0 };
            counted.iter().map(amount).collect()
        };
        (times.iter().sum::<f64>() > 0.0).then(|| Self {
            requests: amounts(|_| 1.0),
            prompt_tokens: amounts(|score| f64::from(score.prompt_tokens)),
            output_tokens: amounts(|score| score.output_token_count() as f64),
            times,
        })
    }

    pub(crate) fn requests_per_s(&self, confidence: f64) -> Estimate {
        rate(&self.requests, &self.times, confidence)
    }

    pub(crate) fn input_tokens_per_s(&self, confidence: f64) -> Estimate {
        rate(&self.prompt_tokens, &self.times, confidence)
    }

    pub(crate) fn output_tokens_per_s(&self, confidence: f64) -> Estimate {
        rate(&self.output_tokens, &self.times, confidence)
    }

    pub(crate) fn total_tokens_per_s(&self, confidence: f64) -> Estimate {
        let both = self.prompt_tokens.iter().zip(&self.output_tokens);
        let tokens: Vec<f64> = both.map(|(prompt, output)| prompt + output).collect();
        rate(&tokens, &self.times, confidence)
    }
}
