//! What can be wrong with an arrival process.

use thiserror::Error;

/// Why an arrival process cannot be.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ScheduleError {
    /// At this rate no second request would ever come.
    #[error("a request rate must be above zero, not {0}; use inf to send everything at once")]
    RateNotPositive(f64),
    /// The rate is NaN.
    #[error("a request rate must be a number, not NaN; use inf to send everything at once")]
    RateNotANumber,
    /// A rate without gaps is a burst, not a Poisson process.
    #[error("a request rate must be finite; describe \"everything at once\" as a burst")]
    RateInfinite,
    /// No gaps have such a distribution.
    #[error("a burstiness must be above zero, not {0}; 1 makes arrivals independent, inf even")]
    Burstiness(f64),
    /// The rate would shrink.
    #[error("a ramp must not fall, as it does from {0} to {1} requests per second")]
    FallingRamp(f64, f64),
    /// A trace is played slower or faster, never backwards.
    #[error("a trace is slowed down by a factor of 0 or more, not {0}; 1 plays it as it was")]
    Slowdown(f64),
    /// What is sent does not say when.
    #[error("request {request} has no time at which it began, so its trace cannot be replayed")]
    NoTimestamp {
        /// Which, from one.
        request: usize,
    },
    /// No adapter has a name.
    #[error("there is no adapter to choose from")]
    NoAdapter,
    /// Nothing can be distinct or skewed.
    #[error("two adapters or more are needed to ask for them in turn or more often than others")]
    OneAdapter,
    /// The first adapter would not be the likeliest.
    #[error("the first adapter must be more than once as likely as the next, not {0}")]
    Skew(f64),
    /// A trace goes back in time.
    #[error("request {request} begins before request {}; sort the trace by time", request - 1)]
    OutOfOrder {
        /// Which, from one.
        request: usize,
    },
}
