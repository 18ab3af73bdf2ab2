//! Objectives of a run: a number of it, and the limit that it must keep to.
//!
//! What a run shows of an objective is never the number alone but bounds on what the server does:
//! [`Evidence`](crate::Evidence) has them.

mod grammar;
mod presets;

use serde::{Deserialize, Serialize};
use servemark_statistics::fewest_draws;

use crate::Statistic;

/// A number of a run and the limit that it must keep to. It reads `ttft:p99<2000ms`,
/// `tpot:mean<=50ms`, `success>=99%` or `goodput>=95%`.
///
/// ```
/// use servemark_metrics::{Goal, Objective};
///
/// let objectives = Objective::list("ttft:p99 < 2s, success >= 99.5%")?;
/// assert_eq!(objectives[0].to_string(), "ttft:p99<2000ms");
/// assert!(matches!(objectives[0].goal, Goal::Latency { limit_ms: 2000.0, .. }));
/// # Ok::<(), servemark_metrics::MetricsError>(())
/// ```
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub struct Objective {
    /// Which number, and its limit.
    pub goal: Goal,
    /// Whether the limit itself is too much.
    pub is_strict: bool,
}

/// Which number, and its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Goal {
    /// A latency is not to be above a limit. A request that failed is later than any limit.
    Latency {
        /// Which latency.
        measure: Measure,
        /// What of it. A percentile of 100 is the largest value, and a mean is of those that
        /// succeeded.
        statistic: Statistic,
        /// The limit in milliseconds.
        limit_ms: f64,
    },
    /// At least a share of the requests must succeed.
    Success {
        /// The share, from 0 to 1.
        share: f64,
    },
    /// At least a share of the requests must meet every [`Slo`](crate::Slo) of the policy.
    Goodput {
        /// The share, from 0 to 1.
        share: f64,
    },
}

/// A latency that an objective may be about.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Measure {
    /// From the sending to the end.
    E2el,
    /// From one token to the next.
    Itl,
    /// From due to let pass by the concurrency limit.
    Queue,
    /// From due to the end.
    ResponseE2el,
    /// From due to the first token.
    ResponseTtft,
    /// The time per output token after the first.
    Tpot,
    /// From the sending to the first token.
    Ttft,
}

impl Measure {
    /// Every one.
    pub const ALL: [Self; 7] = [
        Self::Ttft,
        Self::Tpot,
        Self::Itl,
        Self::E2el,
        Self::Queue,
        Self::ResponseTtft,
        Self::ResponseE2el,
    ];

    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::E2el => "e2el",
            Self::Itl => "itl",
            Self::Queue => "queue",
            Self::ResponseE2el => "response_e2el",
            Self::ResponseTtft => "response_ttft",
            Self::Tpot => "tpot",
            Self::Ttft => "ttft",
        }
    }
}

impl Objective {
    /// A latency that is not to be above a limit of milliseconds, which must be above zero.
    pub fn at_most(measure: Measure, statistic: Statistic, limit_ms: f64) -> Self {
        Self { goal: Goal::Latency { measure, statistic, limit_ms }, is_strict: false }
    }

    /// A share of the requests, from 0 to 1, that is to succeed.
    pub fn succeeding(share: f64) -> Self {
        Self { goal: Goal::Success { share }, is_strict: false }
    }

    /// Whether a value keeps to the limit: milliseconds, or a share.
    pub(crate) fn is_met_by(&self, value: f64) -> bool {
        match (self.goal, self.is_strict) {
            (Goal::Latency { limit_ms, .. }, true) => value < limit_ms,
            (Goal::Latency { limit_ms, .. }, false) => value <= limit_ms,
            (Goal::Success { share } | Goal::Goodput { share }, true) => value > share,
            (Goal::Success { share } | Goal::Goodput { share }, false) => value >= share,
        }
    }

    /// Whether it is about a share of the requests, and not about how long they took.
    pub fn is_of_share(&self) -> bool {
        matches!(self.goal, Goal::Success { .. } | Goal::Goodput { .. })
    }

    /// Whether it is about the tokens of answers, of which not every answer has any.
    pub fn is_of_tokens(&self) -> bool {
        use Measure::{Itl, ResponseTtft, Tpot, Ttft};
        let Goal::Latency { measure, .. } = self.goal else { return false };
        [Itl, ResponseTtft, Tpot, Ttft].contains(&measure)
    }

    /// The share of what is counted that must keep to the limit; nothing where a mean must.
    pub fn share(&self) -> Option<f64> {
        match self.goal {
            Goal::Latency { statistic: Statistic::Mean, .. } => None,
            Goal::Latency { statistic: Statistic::Median, .. } => Some(0.5),
            Goal::Latency { statistic: Statistic::Percentile(percent), .. } => {
                Some(percent / 100.0)
            }
            Goal::Success { share } | Goal::Goodput { share } => Some(share),
        }
    }

    /// How many requests it takes at least to show that it holds, if none misses the limit.
    ///
    /// ```
    /// use servemark_metrics::Objective;
    ///
    /// let objective: Objective = "ttft:p99<2s".parse()?;
    /// assert_eq!(objective.fewest_requests(0.95), 299);
    /// # Ok::<(), servemark_metrics::MetricsError>(())
    /// ```
    pub fn fewest_requests(&self, confidence: f64) -> usize {
        match self.share() {
            None => FEWEST_FOR_A_MEAN,
            Some(share) if share >= 1.0 => 1,
            Some(share) => fewest_draws(share, 1.0 - confidence),
        }
    }
}

/// Of fewer values Student's t has the mean only if they are normal.
const FEWEST_FOR_A_MEAN: usize = 40;
