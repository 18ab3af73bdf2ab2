//! Scores a whole run, or its stable part, for AISBench's two tables.

mod rates;
mod sample;
mod stable;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::rates::{StableCounting, StageRates};
pub use self::sample::{StageQuantity, StageStatistic};
pub use self::stable::{StableRule, StableStage};
use crate::RequestScore;

/// Part of a run that AISBench's tables cover.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StageSpec {
    /// The part at the limit of requests in flight.
    Stable {
        /// Rule that determines where the part begins and ends.
        rule: StableRule,
        /// Tokens and requests that the rates count.
        #[serde(default)]
        counting: StableCounting,
    },
    /// The whole run.
    #[default]
    Total,
}

impl StageSpec {
    /// Returns the name in the tables.
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
    /// Definition of the part.
    pub spec: StageSpec,
    /// Requests of the part that succeeded.
    pub scores: Vec<&'s RequestScore<'a>>,
    /// Number of requests of the part that failed.
    pub failed: usize,
    /// Start and end of the part, in seconds since the run's clock started.
    pub window: (f64, f64),
    /// Rates of the part, per second.
    pub rates: StageRates,
    /// Rates by AISBench's own calculation, if it differs.
    pub peer_rates: Option<StageRates>,
}

/// Why a part of a run has no figures. The enum is closed.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum NoStage {
    /// No request succeeded.
    #[error(
        "All requests failed, cannot calculate performance results. Please check the error logs \
         from responses!"
    )]
    NothingSucceeded,
    /// The number of requests in flight never reached the limit, or reached it only once.
    #[error(
        "Can not find a stable stage from performance results! Please check the concurrency plot."
    )]
    NotStable,
}

impl<'s, 'a> Stage<'s, 'a> {
    /// Selects a part of a run of these requests. The stable part is the one at `limit` requests in
    /// flight; without a limit there is none.
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

    /// Returns the duration of the part in seconds.
    pub fn duration_s(&self) -> f64 {
        self.window.1 - self.window.0
    }

    /// Returns the prompt tokens of the part's requests.
    pub fn input_tokens(&self) -> u64 {
        rates::input(&self.scores)
    }

    /// Returns the output tokens of the part's requests.
    pub fn output_tokens(&self) -> u64 {
        rates::output(&self.scores)
    }

    /// Returns the number of requests with a gap above zero between two tokens.
    pub fn requests_with_gaps(&self) -> usize {
        let has_gap = |score: &&&RequestScore<'_>| score.itl_s.iter().any(|gap| gap > 0.0);
        self.scores.iter().filter(has_gap).count()
    }

    /// Returns the prompt tokens of all requests divided by the sum of their times to first token.
    /// It contains queueing, so it is the apparent speed of reading prompts.
    pub fn prefill_tokens_per_s(&self) -> Option<f64> {
        let waited: f64 = self.scores.iter().filter_map(|score| score.ttft_s).sum();
        let input = self.input_tokens();
        (waited > 0.0 && input > 0).then(|| input as f64 / waited)
    }
}

/// Returns the time from the first start to the last end of the requests that succeeded, in
/// seconds.
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
