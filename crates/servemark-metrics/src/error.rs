//! Errors in what a user asks of a score.

use thiserror::Error;

/// An error in what a user asks of a score. Scoring itself cannot fail.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum MetricsError {
    /// The share of the peak concurrency from which on a run counts as steady is out of range.
    #[error("must be in (0, 1]")]
    ConcurrencyRatio,
    /// A condition on a comparison cannot be parsed.
    #[error(
        "expected METRIC>LIMIT or METRIC<LIMIT such as \"ttft:p99>+5%\", \
         \"request_throughput<-3%\" or \"e2el:mean>2000\", got {given:?}"
    )]
    Condition {
        /// The text that cannot be parsed.
        given: String,
    },
    /// No figure with an interval has this name.
    #[error(
        "expected a figure such as ttft:mean, ttft:p99, tpot:p50, itl:p99, e2el:mean, \
         output_tokens_per_s or requests_per_s, got {given:?}"
    )]
    Estimand {
        /// The text that cannot be parsed.
        given: String,
    },
    /// A tolerance cannot be parsed.
    #[error(
        "expected PERCENT% or FIGURE=PERCENT% such as \"3%\" or \"ttft:p99=3%\", got {given:?}"
    )]
    Tolerance {
        /// The text that cannot be parsed.
        given: String,
    },
    /// No figure of a run has this name.
    #[error(
        "expected a metric such as ttft:p99, tpot:mean, itl:median, e2el:p90, \
         request_throughput, input_throughput, output_throughput, total_token_throughput, \
         completed, failed or duration, got {given:?}"
    )]
    Figure {
        /// The text that cannot be parsed.
        given: String,
    },
    /// An objective of a run cannot be parsed.
    #[error(
        "expected an objective such as ttft:p99<2000ms, tpot:mean<=50ms, success>=99% or \
         goodput>=95%, with a latency in ttft, tpot, itl, e2el, queue, response_ttft, \
         response_e2el, a statistic in mean, median, max or a percentile, and us, ms or s; got \
         {given:?}"
    )]
    Objective {
        /// The text that cannot be parsed.
        given: String,
    },
    /// A required precision of a figure cannot be parsed.
    #[error(
        "expected a figure and how well it must be known, such as ttft:mean+-2%, itl:p99+-5ms or \
         output_tokens_per_s+-1%, got {given:?}"
    )]
    Precision {
        /// The text that cannot be parsed.
        given: String,
    },
    /// No published set of objectives has this name.
    #[error("there are no limits {given}; there are {known}")]
    Preset {
        /// Name that was given.
        given: String,
        /// Known names.
        known: String,
    },
    /// A service-level objective is not of the form `METRIC:MILLISECONDS`.
    #[error(
        "expected METRIC:MILLISECONDS with METRIC in ttft, tpot, e2el or a part such as \
         server_queue, got {given:?}"
    )]
    Slo {
        /// The text that cannot be parsed.
        given: String,
    },
    /// A service-level objective has a limit that is not finite or is below 0 ms.
    #[error("expected a finite limit of 0 ms or more, got {given:?}")]
    SloLimit {
        /// The text that cannot be parsed.
        given: String,
    },
    /// No verdict has this name.
    #[error("there is no verdict {given:?}; there are {known}")]
    UnknownVerdict {
        /// Name that was given.
        given: String,
        /// Known names.
        known: String,
    },
}
