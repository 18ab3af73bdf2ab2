//! A run, or its stable part, as AISBench's two tables tell of it.

mod rates;
mod sample;
mod stable;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::rates::{StableCounting, StageRates};
pub use self::sample::{StageQuantity, StageStatistic};
pub use self::stable::{StableRule, StableStage};
use crate::RequestScore;

/// Which part of a run is told of.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StageSpec {
    /// The part at its limit of requests in flight.
    Stable {
        /// Where it begins and ends.
        rule: StableRule,
        /// What its rates count.
        #[serde(default)]
        counting: StableCounting,
    },
    /// All of it.
    #[default]
    Total,
}

impl StageSpec {
    /// Its name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stable { .. } => "stable",
            Self::Total => "total",
        }
    }
}

/// A part of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stage<'s, 'a> {
    /// Which.
    pub spec: StageSpec,
    /// Its requests that ended well.
    pub scores: Vec<&'s RequestScore<'a>>,
    /// How many of its requests failed.
    pub failed: usize,
    /// From when to when it lasted, in seconds since the run's clock started.
    pub window: (f64, f64),
    /// What it yielded, per second.
    pub rates: StageRates,
    /// The same as AISBench reckons, where that is something else.
    pub peer_rates: Option<StageRates>,
}

/// Why there is nothing to tell of. Closed: a stage has requests or it is not found.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum NoStage {
    /// No request ended well.
    #[error(
        "All requests failed, cannot calculate performance results. Please check the error logs \
         from responses!"
    )]
    NothingSucceeded,
    /// As many requests as the limit lets were never in flight at once, or only once.
    #[error(
        "Can not find a stable stage from performance results! Please check the concurrency plot."
    )]
    NotStable,
}

impl<'s, 'a> Stage<'s, 'a> {
    /// The part of a run of these requests that is asked for. The stable part is that at `limit`
    /// requests in flight, and there is none without a limit.
    pub fn of(
        scores: &'s [RequestScore<'a>],
        limit: Option<usize>,
        spec: StageSpec,
    ) -> Result<Self, NoStage> {
        let successes: Vec<_> = scores.iter().filter(|score| score.success).collect();
        if successes.is_empty() {
            return Err(NoStage::NothingSucceeded);
        }
        match spec {
            StageSpec::Total => Ok(Self::total(scores, successes)),
            StageSpec::Stable { rule, counting } => {
                let spans: Vec<_> = successes.iter().map(|score| span(score)).collect();
                let found = limit.and_then(|limit| StableStage::find(&spans, limit, rule));
                let found = found.ok_or(NoStage::NotStable)?;
                Ok(Self::stable(scores, &successes, spec, &found, counting))
            }
        }
    }

    fn total(scores: &[RequestScore<'a>], successes: Vec<&'s RequestScore<'a>>) -> Self {
        let window = window(&successes);
        Self {
            spec: StageSpec::Total,
            failed: scores.len() - successes.len(),
            rates: StageRates::of_requests(&successes, window),
            peer_rates: None,
            window,
            scores: successes,
        }
    }

    fn stable(
        scores: &[RequestScore<'a>],
        successes: &[&'s RequestScore<'a>],
        spec: StageSpec,
        found: &StableStage,
        counting: StableCounting,
    ) -> Self {
        let window = found.window;
        let members: Vec<_> = found.requests.iter().map(|&place| successes[place]).collect();
        let holds = |score: &RequestScore<'_>| (window.0..=window.1).contains(&score.start_s);
        let whole = StageRates::of_requests(&members, window);
        let (rates, peer_rates) = match counting {
            StableCounting::Requests => (whole, None),
            StableCounting::Within => (StageRates::within(successes, window), Some(whole)),
        };
        Self {
            spec,
            failed: scores.iter().filter(|score| !score.success && holds(score)).count(),
            scores: members,
            window,
            rates,
            peer_rates,
        }
    }

    /// How long it lasted.
    pub fn duration_s(&self) -> f64 {
        self.window.1 - self.window.0
    }

    /// Prompt tokens of its requests.
    pub fn input_tokens(&self) -> u64 {
        rates::input(&self.scores)
    }

    /// Output tokens of its requests.
    pub fn output_tokens(&self) -> u64 {
        rates::output(&self.scores)
    }

    /// How many of its requests have a time above zero between two tokens.
    pub fn requests_with_gaps(&self) -> usize {
        let has_gap = |score: &&&RequestScore<'_>| score.itl_s.iter().any(|gap| gap > 0.0);
        self.scores.iter().filter(has_gap).count()
    }

    /// Input tokens over the time to the first token, all requests together: how fast prompts seem
    /// to be read, queueing included.
    pub fn prefill_tokens_per_s(&self) -> Option<f64> {
        let waited: f64 = self.scores.iter().filter_map(|score| score.ttft_s).sum();
        let input = self.input_tokens();
        (waited > 0.0 && input > 0).then(|| input as f64 / waited)
    }
}

/// From the first start of a request that ended well to the last of their ends.
pub(crate) fn span_s(scores: &[RequestScore<'_>]) -> f64 {
    let successes: Vec<_> = scores.iter().filter(|score| score.success).collect();
    let (start, end) = window(&successes);
    (end - start).max(0.0)
}

fn window(scores: &[&RequestScore<'_>]) -> (f64, f64) {
    let starts = scores.iter().map(|score| score.start_s);
    let ends = scores.iter().map(|score| score.end_s());
    (starts.fold(f64::INFINITY, f64::min), ends.fold(f64::NEG_INFINITY, f64::max))
}

fn span(score: &RequestScore<'_>) -> (f64, f64) {
    (score.start_s, score.end_s())
}
