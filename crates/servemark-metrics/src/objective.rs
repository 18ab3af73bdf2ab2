//! Objectives of a run: a figure, and the limit that it must keep to.
//!
//! A run's evidence on an objective is not the figure alone but bounds on what the server does: see
//! [`Evidence`](crate::Evidence).

mod grammar;
mod presets;

use serde::{Deserialize, Serialize};
use servemark_statistics::fewest_draws;

use crate::{Latency, Statistic};

/// A figure of a run and the limit that it must keep to. Its text form is `ttft:p99<2000ms`,
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
pub struct Objective {
    /// Figure and limit.
    pub goal: Goal,
    /// Whether a value equal to the limit misses it.
    pub is_strict: bool,
}

/// A figure and its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// A latency must not exceed a limit. A failed request is later than any limit.
    Latency {
        /// The limited latency.
        measure: Latency,
        /// Statistic of the latency. A percentile of 100 is the largest value; a mean is over the
        /// requests that succeeded.
        statistic: Statistic,
        /// Limit in milliseconds.
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

impl Objective {
    /// Creates an objective that limits a latency to `limit_ms` milliseconds, which must be above
    /// zero.
    pub fn at_most(measure: Latency, statistic: Statistic, limit_ms: f64) -> Self {
        Self { goal: Goal::Latency { measure, statistic, limit_ms }, is_strict: false }
    }

    /// Creates an objective that a share of the requests, from 0 to 1, must succeed.
    pub fn succeeding(share: f64) -> Self {
        Self { goal: Goal::Success { share }, is_strict: false }
    }

    /// Returns whether a value, in milliseconds or as a share, keeps to the limit.
    pub(crate) fn is_met_by(&self, value: f64) -> bool {
        match (self.goal, self.is_strict) {
            (Goal::Latency { limit_ms, .. }, true) => value < limit_ms,
            (Goal::Latency { limit_ms, .. }, false) => value <= limit_ms,
            (Goal::Success { share } | Goal::Goodput { share }, true) => value > share,
            (Goal::Success { share } | Goal::Goodput { share }, false) => value >= share,
        }
    }

    /// Returns whether the objective is about a share of the requests, not about a latency.
    pub fn is_of_share(&self) -> bool {
        matches!(self.goal, Goal::Success { .. } | Goal::Goodput { .. })
    }

    /// Returns whether the objective is about the tokens of answers; not every answer has tokens.
    pub fn is_of_tokens(&self) -> bool {
        matches!(self.goal, Goal::Latency { measure, .. } if measure.needs_tokens())
    }

    /// Returns whether the objective is about a part of a request's time.
    pub(crate) fn is_of_part(&self) -> bool {
        matches!(self.goal, Goal::Latency { measure: Latency::Part(_), .. })
    }

    /// Returns whether the objective is about a latency that contains waits in a server's queue.
    pub(crate) fn has_waits(&self) -> bool {
        matches!(self.goal, Goal::Latency { measure, .. } if measure.has_waits())
    }

    /// Returns the share of the values that must keep to the limit; absent for a limit on a mean.
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

    /// Returns the least number of requests that can show that the objective holds, if none misses
    /// the limit.
    ///
    /// ```
    /// use servemark_metrics::Objective;
    ///
    /// let objective: Objective = "ttft:p99<2s".parse()?;
    /// assert_eq!(objective.fewest_requests(0.95), 368);
    /// let objective: Objective = "success>=99%".parse()?;
    /// assert_eq!(objective.fewest_requests(0.95), 299);
    /// # Ok::<(), servemark_metrics::MetricsError>(())
    /// ```
    pub fn fewest_requests(&self, confidence: f64) -> usize {
        match self.share() {
            None => FEWEST_FOR_A_MEAN,
            Some(share) if share >= 1.0 => 1,
            // The bounds on a share are exact, so each may err with the whole chance.
            Some(share) if self.is_of_share() => fewest_draws(share, 1.0 - confidence),
            Some(share) => fewest_draws(share, (1.0 - confidence) / 2.0),
        }
    }
}

/// Least number of values for an objective on a mean. With fewer, Student's t needs normal values.
const FEWEST_FOR_A_MEAN: usize = 40;
