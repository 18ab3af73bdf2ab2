//! Errors of arrival processes.

use thiserror::Error;

/// Why an arrival process is invalid.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum ScheduleError {
    /// At a rate of zero or less a second request would never arrive.
    #[error("a request rate must be above zero, not {0}; use inf to send everything at once")]
    RateNotPositive(f64),
    /// The rate is NaN.
    #[error("a request rate must be a number, not NaN; use inf to send everything at once")]
    RateNotANumber,
    /// A rate without gaps is a burst, not a Poisson process.
    #[error("a request rate must be finite; describe \"everything at once\" as a burst")]
    RateInfinite,
    /// A gamma distribution needs a shape above zero.
    #[error("a burstiness must be above zero, not {0}; 1 makes arrivals independent, inf even")]
    Burstiness(f64),
    /// The ramp would fall.
    #[error("a ramp must not fall, as it does from {0} to {1} requests per second")]
    FallingRamp(f64, f64),
    /// A trace can be replayed slower or faster, never backwards.
    #[error("a trace is slowed down by a factor of 0 or more, not {0}; 1 plays it as it was")]
    Slowdown(f64),
    /// A request has no start time.
    #[error("request {request} has no time at which it began, so its trace cannot be replayed")]
    NoTimestamp {
        /// One-based number of the request.
        request: usize,
    },
    /// The list of adapters is empty.
    #[error("there is no adapter to choose from")]
    NoAdapter,
    /// A single adapter cannot be distinct or skewed.
    #[error("two adapters or more are needed to ask for them in turn or more often than others")]
    OneAdapter,
    /// The first adapter would not be the most likely one.
    #[error("the first adapter must be more likely than the next by a factor above 1, not {0}")]
    Skew(f64),
    /// A trace goes back in time.
    #[error("request {request} begins before request {}; sort the trace by time", request - 1)]
    OutOfOrder {
        /// One-based number of the request.
        request: usize,
    },
}
