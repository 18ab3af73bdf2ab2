//! Objectives of a run: a figure, and the limit that it must keep to.
//!
//! A run's evidence on an objective is not the figure alone but bounds on what the server does: see
//! [`Evidence`](crate::Evidence).

mod grammar;
mod presets;

use serde::{Deserialize, Serialize};
use servemark_statistics::fewest_draws;

use crate::{OwnLatency, RequestPart, Statistic};

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
#[non_exhaustive]
pub struct Objective {
    /// Figure and limit.
    pub goal: Goal,
    /// Whether a value equal to the limit misses it.
    pub is_strict: bool,
}

/// A figure and its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Goal {
    /// A latency must not exceed a limit. A failed request is later than any limit.
    Latency {
        /// The limited latency.
        measure: Measure,
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

/// A latency that an objective can limit.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Measure {
    /// Time from sending to the end.
    E2el,
    /// Time from one token to the next.
    Itl,
    /// Latency that the program defines.
    Own(OwnLatency),
    /// Part of the time from due to the end; unknown where the server does not report it.
    Part(RequestPart),
    /// Time from due until the concurrency limit lets the request pass.
    Queue,
    /// Time from due to the end.
    ResponseE2el,
    /// Time from due to the first token.
    ResponseTtft,
    /// Time per output token after the first.
    Tpot,
    /// Time from sending to the first token.
    Ttft,
}

impl Measure {
    /// All latencies that Servemark defines.
    pub const ALL: [Self; 7] = [
        Self::Ttft,
        Self::Tpot,
        Self::Itl,
        Self::E2el,
        Self::Queue,
        Self::ResponseTtft,
        Self::ResponseE2el,
    ];

    /// Returns the name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::E2el => "e2el",
            Self::Itl => "itl",
            Self::Own(latency) => latency.name(),
            Self::Part(part) => part.name(),
            Self::Queue => "queue",
            Self::ResponseE2el => "response_e2el",
            Self::ResponseTtft => "response_ttft",
            Self::Tpot => "tpot",
            Self::Ttft => "ttft",
        }
    }
}

impl Objective {
    /// Creates an objective that limits a latency to `limit_ms` milliseconds, which must be above
    /// zero.
    pub fn at_most(measure: Measure, statistic: Statistic, limit_ms: f64) -> Self {
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
        use Measure::{Itl, ResponseTtft, Tpot, Ttft};
        let Goal::Latency { measure, .. } = self.goal else { return false };
        [Itl, ResponseTtft, Tpot, Ttft].contains(&measure)
    }

    /// Returns whether the objective is about a part of a request's time.
    pub(crate) fn is_of_part(&self) -> bool {
        matches!(self.goal, Goal::Latency { measure: Measure::Part(_), .. })
    }

    /// Returns whether the objective is about a latency that contains waits in a server's queue.
    pub(crate) fn has_waits(&self) -> bool {
        use Measure::{E2el, Queue, ResponseE2el, ResponseTtft, Ttft};
        let Goal::Latency { measure, .. } = self.goal else { return false };
        [E2el, Queue, ResponseE2el, ResponseTtft, Ttft].contains(&measure)
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
    /// # Ok::<(), servemark_metrics::MetricsError>(())
    /// ```
    pub fn fewest_requests(&self, confidence: f64) -> usize {
        match self.share() {
            None => FEWEST_FOR_A_MEAN,
            Some(share) if share >= 1.0 => 1,
            Some(share) => fewest_draws(share, (1.0 - confidence) / 2.0),
        }
    }
}

/// Least number of values for an objective on a mean. With fewer, Student's t needs normal values.
const FEWEST_FOR_A_MEAN: usize = 40;
