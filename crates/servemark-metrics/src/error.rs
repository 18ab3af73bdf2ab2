//! What a user can get wrong about a score.

use thiserror::Error;

/// What can go wrong while a score is asked for. Scoring itself cannot fail.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum MetricsError {
    /// The share of the peak concurrency from which on a run counts as steady.
    #[error("must be in (0, 1]")]
    ConcurrencyRatio,
    /// A condition on a comparison cannot be read.
    #[error(
        "expected METRIC>LIMIT or METRIC<LIMIT such as \"ttft:p99>+5%\", \
         \"request_throughput<-3%\" or \"e2el:mean>2000\", got {given:?}"
    )]
    Condition {
        /// What was given.
        given: String,
    },
    /// No figure with an interval has this name.
    #[error(
        "expected a figure such as ttft:mean, ttft:p99, tpot:p50, itl:p99, e2el:mean, \
         output_tokens_per_s or requests_per_s, got {given:?}"
    )]
    Estimand {
        /// What was given.
        given: String,
    },
    /// A tolerance is malformed.
    #[error(
        "expected PERCENT% or FIGURE=PERCENT% such as \"3%\" or \"ttft:p99=3%\", got {given:?}"
    )]
    Tolerance {
        /// What was given.
        given: String,
    },
    /// No number of a run has this name.
    #[error(
        "expected a metric such as ttft:p99, tpot:mean, itl:median, e2el:p90, \
         request_throughput, input_throughput, output_throughput, total_token_throughput, \
         completed, failed or duration, got {given:?}"
    )]
    Figure {
        /// What was given.
        given: String,
    },
    /// An objective of a run cannot be read.
    #[error(
        "expected an objective such as ttft:p99<2000ms, tpot:mean<=50ms, success>=99% or \
         goodput>=95%, with a latency in ttft, tpot, itl, e2el, queue, response_ttft, \
         response_e2el, a statistic in mean, median, max or a percentile, and us, ms or s; got \
         {given:?}"
    )]
    Objective {
        /// What was given.
        given: String,
    },
    /// How well a figure must be known cannot be read.
    #[error(
        "expected a figure and how well it must be known, such as ttft:mean+-2%, itl:p99+-5ms or \
         output_tokens_per_s+-1%, got {given:?}"
    )]
    Precision {
        /// What was given.
        given: String,
    },
    /// Nobody has published objectives by this name.
    #[error("there are no limits {given}; there are {known}")]
    Preset {
        /// What was given.
        given: String,
        /// The names that there are.
        known: String,
    },
    /// A service-level objective does not read `METRIC:MILLISECONDS`.
    #[error("expected METRIC:MILLISECONDS with METRIC in ttft, tpot, e2el, got {given:?}")]
    Slo {
        /// What was given.
        given: String,
    },
    /// A service-level objective has a limit that no latency can be held against.
    #[error("expected a finite limit above 0 ms, got {given:?}")]
    SloLimit {
        /// What was given.
        given: String,
    },
    /// There is no verdict of this name.
    #[error("there is no verdict {given:?}; there are {known}")]
    UnknownVerdict {
        /// What was given.
        given: String,
        /// The names that there are.
        known: String,
    },
}
