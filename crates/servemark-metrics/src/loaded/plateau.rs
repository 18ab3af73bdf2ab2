//! The part of a run at the load that was asked for, as vLLM's Rust client finds it.
//!
//! [`SteadyState`](crate::SteadyState) finds the longest part near the observed peak. A plateau is
//! defined by the limit on requests in flight, so a run that never reached the limit has none.

use serde::{Deserialize, Serialize};
use servemark_core::RunLog;

use crate::policy::{MetricPolicy, PromptTokenRule};
use crate::statistics::whole;
use crate::{ConcurrencyRatio, RequestScore, Summary};

/// Definition of a plateau.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct PlateauSpec {
    /// Share of the limit on requests in flight that must be reached.
    pub threshold: ConcurrencyRatio,
    /// Least duration of a typical plateau in seconds. If absent, it is a tenth of the run and at
    /// least ten seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_s: Option<f64>,
}

/// The defaults of vLLM's Rust client.
impl Default for PlateauSpec {
    fn default() -> Self {
        Self { threshold: ConcurrencyRatio::MOST, least_s: None }
    }
}

impl PlateauSpec {
    fn least_s(self, duration_s: f64) -> f64 {
        self.least_s.unwrap_or((duration_s * 0.1).max(10.0))
    }
}

/// Figures of a run at the load that was asked for: from the first moment at which the threshold of
/// requests in flight was reached to the last.
///
/// A request that ends with the last moment counts, and a piece of several tokens counts with all
/// of them; vLLM's client does neither.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Plateau {
    /// Time and limits of the plateau.
    pub window: PlateauWindow,
    /// Requests per second that succeeded within the plateau.
    pub requests_per_s: f64,
    /// Prompt tokens per second of the requests that were sent within the plateau.
    pub input_tokens_per_s: f64,
    /// Output tokens per second that came within the plateau. A request counts with the share of
    /// its pieces that came within it.
    pub output_tokens_per_s: f64,
    /// Prompt and output tokens per second.
    pub total_tokens_per_s: f64,
    /// Time to first token of the requests that were sent within the plateau.
    pub ttft: Summary,
    /// Time per output token of the requests that were sent within the plateau.
    pub tpot: Summary,
}

/// Time and limits of a plateau. Seconds count from when the run's first request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlateauWindow {
    /// Start in seconds.
    pub start_s: f64,
    /// End in seconds.
    pub end_s: f64,
    /// Duration in seconds.
    pub duration_s: f64,
    /// Limit on requests in flight.
    pub target_concurrency: usize,
    /// Share of the limit that must be reached.
    pub threshold: ConcurrencyRatio,
    /// Number of requests in flight from which on the load counts as reached.
    pub threshold_requests: usize,
    /// Largest number of requests in flight at any time of the run.
    pub observed_peak: usize,
    /// Number of requests that were sent within the plateau.
    pub requests_started: usize,
    /// Number of requests that succeeded within the plateau.
    pub requests_completed: usize,
    /// Number of all requests that succeeded.
    pub requests_total: usize,
    /// Share of the run that the plateau takes, if it is too short to be typical.
    pub too_short: Option<f64>,
}

impl Plateau {
    /// Finds the plateau of a run whose requests were limited only by concurrency; absent for any
    /// other run, and for one that never reached its limit.
    pub(crate) fn of(
        log: &RunLog,
        policy: &MetricPolicy,
        scores: &[RequestScore<'_>],
        duration_s: f64,
    ) -> Option<Self> {
        let spec = policy.plateau?;
        let facts = &log.header().facts;
        let limit = facts.max_concurrency.filter(|_| facts.request_rate.is_none())?;
        let successes: Vec<_> = scores.iter().filter(|score| score.success).collect();
        let span = Span::find(&successes, spec.threshold, limit)?;
        let per_second = |count: f64| count / span.duration_s();
        let sent = || successes.iter().filter(|score| span.holds_start(score.start_s));
        let input: u64 = sent().map(|score| prompt_tokens(score, policy)).sum();
        let output: f64 = successes.iter().map(|score| span.output(score)).sum();
        let ttft: Vec<f64> = sent().filter_map(|score| score.ttft_s).collect();
        let tpot: Vec<f64> = sent().filter_map(|score| score.tpot_s(policy.tpot)).collect();
        let window = span.window(&successes, spec, limit, duration_s);
        Some(Self {
            requests_per_s: per_second(window.requests_completed as f64),
            input_tokens_per_s: per_second(input as f64),
            output_tokens_per_s: per_second(output),
            total_tokens_per_s: per_second(input as f64 + output),
            ttft: Summary::of(&ttft, policy),
            tpot: Summary::of(&tpot, &with_tails(policy)),
            window,
        })
    }
}

/// Returns the policy with the two percentiles that vLLM's client always shows of the time per
/// output token.
fn with_tails(policy: &MetricPolicy) -> MetricPolicy {
    let mut policy = policy.clone();
    for tail in [90.0, 99.0] {
        if !policy.percentiles.contains(&tail) {
            policy.percentiles.push(tail);
        }
    }
    policy
}

fn prompt_tokens(score: &RequestScore<'_>, policy: &MetricPolicy) -> u64 {
    u64::from(match policy.prompt_tokens {
        PromptTokenRule::Planned | PromptTokenRule::PlannedAlone => score.planned.prompt_tokens,
        PromptTokenRule::Server => score.prompt_tokens,
    })
}

/// The part of the run on the run's clock, with the threshold that defines it.
#[derive(Clone, Copy)]
struct Span {
    first_start: f64,
    start: f64,
    end: f64,
    threshold: usize,
    peak: usize,
}

impl Span {
    fn find(
        successes: &[&RequestScore<'_>],
        threshold: ConcurrencyRatio,
        limit: usize,
    ) -> Option<Self> {
        let threshold = whole((threshold.get() * limit as f64).ceil()).max(1);
        let (mut open, mut peak) = (0_usize, 0);
        let (mut first, mut last) = (None, None);
        let changes = changes(successes);
        for &(time, is_start) in &changes {
            if is_start {
                open += 1;
                peak = peak.max(open);
                if open == threshold {
                    first.get_or_insert(time);
                }
            } else {
                if open == threshold {
                    last = Some(time);
                }
                open = open.saturating_sub(1);
            }
        }
        let (start, end) = first.zip(last).filter(|(start, end)| end > start)?;
        Some(Self { first_start: changes.first()?.0, start, end, threshold, peak })
    }

    fn duration_s(&self) -> f64 {
        self.end - self.start
    }

    fn holds_start(&self, time: f64) -> bool {
        (self.start..self.end).contains(&time)
    }

    fn contains(&self, time: f64) -> bool {
        (self.start..=self.end).contains(&time)
    }

    /// Returns the number of output tokens of a request that came within the part.
    fn output(&self, score: &RequestScore<'_>) -> f64 {
        let all = score.token_times().count().max(1) as f64;
        let within = score.token_times().filter(|&time| self.contains(time)).count() as f64;
        score.output_token_count() as f64 * within / all
    }

    fn window(
        &self,
        successes: &[&RequestScore<'_>],
        spec: PlateauSpec,
        limit: usize,
        run_s: f64,
    ) -> PlateauWindow {
        let count = |is_within: &dyn Fn(&RequestScore<'_>) -> bool| {
            successes.iter().filter(|score| is_within(score)).count()
        };
        let duration_s = self.duration_s();
        let is_short = duration_s < spec.least_s(run_s);
        PlateauWindow {
            start_s: self.start - self.first_start,
            end_s: self.end - self.first_start,
            duration_s,
            target_concurrency: limit,
            threshold: spec.threshold,
            threshold_requests: self.threshold,
            observed_peak: self.peak,
            requests_started: count(&|score| self.holds_start(score.start_s)),
            requests_completed: count(&|score| self.contains(score.start_s + score.latency_s)),
            requests_total: successes.len(),
            too_short: is_short.then(|| duration_s / run_s.max(f64::MIN_POSITIVE)),
        }
    }
}

/// Returns starts and ends in order; at the same instant, ends come first.
fn changes(successes: &[&RequestScore<'_>]) -> Vec<(f64, bool)> {
    let both = successes
        .iter()
        .flat_map(|score| [(score.start_s, true), (score.start_s + score.latency_s, false)]);
    let mut changes: Vec<(f64, bool)> = both.collect();
    changes.sort_unstable_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
    changes
}
