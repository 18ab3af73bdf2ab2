//! The part of a run at the load that was asked for, as vLLM's Rust client finds it.
//!
//! [`SteadyState`](crate::SteadyState) looks for the longest stretch near the peak that there was;
//! this goes by the limit on requests in flight, so a run that never reached it has none.

use serde::{Deserialize, Serialize};
use servemark_core::RunLog;

use crate::policy::{MetricPolicy, PromptTokenRule};
use crate::statistics::whole;
use crate::{ConcurrencyRatio, RequestScore, Summary};

/// From when to when a run counts as being at its load.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct PlateauSpec {
    /// The share of the limit on requests in flight that must be reached.
    pub threshold: ConcurrencyRatio,
    /// How long it must last to be taken for typical; without it a tenth of the run, and at least
    /// ten seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_s: Option<f64>,
}

/// vLLM's Rust client's own.
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

/// What a run yielded at the load that was asked for: from the first moment at which so many
/// requests were in flight to the last.
///
/// A request that ends with the last moment counts, and a piece of several tokens counts as
/// several; to vLLM's client neither does.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Plateau {
    /// When it was.
    pub window: PlateauWindow,
    /// Requests that ended well within it, per second.
    pub requests_per_s: f64,
    /// Prompt tokens of the requests that were sent within it, per second.
    pub input_tokens_per_s: f64,
    /// Output tokens that came within it, per second: of each request the share of its pieces that
    /// did.
    pub output_tokens_per_s: f64,
    /// Both.
    pub total_tokens_per_s: f64,
    /// Time to first token of the requests that were sent within it.
    pub ttft: Summary,
    /// Time per output token of the same.
    pub tpot: Summary,
}

/// When a run was at its load. Seconds count from when its first request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlateauWindow {
    /// Where it begins.
    pub start_s: f64,
    /// Where it ends.
    pub end_s: f64,
    /// How long it is.
    pub duration_s: f64,
    /// The limit on requests in flight.
    pub target_concurrency: usize,
    /// The share of it that was asked for.
    pub threshold: ConcurrencyRatio,
    /// How many requests that is.
    pub threshold_requests: usize,
    /// The most requests in flight at any time of the run.
    pub observed_peak: usize,
    /// Requests that were sent within it.
    pub requests_started: usize,
    /// Requests that ended well within it.
    pub requests_completed: usize,
    /// All requests that ended well.
    pub requests_total: usize,
    /// Its share of the run, if it is too short to be typical.
    pub too_short: Option<f64>,
}

impl Plateau {
    /// The plateau of a run whose requests went as fast as a limit let them; nothing of any other
    /// run, or of one that never reached its limit.
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

/// The two percentiles that the peer always shows of the time per token, and those that are wanted.
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
        PromptTokenRule::Planned => score.planned.prompt_tokens,
        PromptTokenRule::Server => score.prompt_tokens,
    })
}

/// The stretch on the run's clock, and what chose it.
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

    fn holds(&self, time: f64) -> bool {
        (self.start..=self.end).contains(&time)
    }

    /// Output tokens of a request that came within.
    fn output(&self, score: &RequestScore<'_>) -> f64 {
        let all = score.token_times().count().max(1) as f64;
        let within = score.token_times().filter(|&time| self.holds(time)).count() as f64;
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
            requests_completed: count(&|score| self.holds(score.start_s + score.latency_s)),
            requests_total: successes.len(),
            too_short: is_short.then(|| duration_s / run_s.max(f64::MIN_POSITIVE)),
        }
    }
}

/// Starts and ends in order; of those at the same instant the ends come first.
fn changes(successes: &[&RequestScore<'_>]) -> Vec<(f64, bool)> {
    let both = successes
        .iter()
        .flat_map(|score| [(score.start_s, true), (score.start_s + score.latency_s, false)]);
    let mut changes: Vec<(f64, bool)> = both.collect();
    changes.sort_unstable_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
    changes
}
