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
}
