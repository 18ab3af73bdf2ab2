//! Request rates.

use serde::{Deserialize, Serialize};

use crate::ScheduleError;

/// A rate in requests per second: finite and above zero.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, PartialOrd, Serialize)]
#[serde(into = "f64", try_from = "f64")]
pub struct Rate(f64);

impl Rate {
    /// Creates a rate of `requests_per_second`.
    pub fn new(requests_per_second: f64) -> Result<Self, ScheduleError> {
        if requests_per_second.is_nan() {
            Err(ScheduleError::RateNotANumber)
        } else if requests_per_second <= 0.0 {
            Err(ScheduleError::RateNotPositive(requests_per_second))
        } else if requests_per_second.is_infinite() {
            Err(ScheduleError::RateInfinite)
        } else {
            Ok(Self(requests_per_second))
        }
    }

    /// Returns the rate in requests per second.
    pub const fn per_second(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Rate {
    type Error = ScheduleError;

    fn try_from(requests_per_second: f64) -> Result<Self, ScheduleError> {
        Self::new(requests_per_second)
    }
}

impl From<Rate> for f64 {
    fn from(rate: Rate) -> Self {
        rate.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refuses(rate: f64, message: &str) {
        assert_eq!(Rate::new(rate).unwrap_err().to_string(), message);
    }

    #[test]
    fn a_rate_is_finite_and_above_zero() {
        refuses(
            0.0,
            "a request rate must be above zero, not 0; use inf to send everything at once",
        );
        refuses(
            -2.5,
            "a request rate must be above zero, not -2.5; use inf to send everything at once",
        );
        refuses(
            f64::NEG_INFINITY,
            "a request rate must be above zero, not -inf; use inf to send everything at once",
        );
        refuses(
            f64::NAN,
            "a request rate must be a number, not NaN; use inf to send everything at once",
        );
        refuses(
            f64::INFINITY,
            "a request rate must be finite; describe \"everything at once\" as a burst",
        );
    }

    #[test]
    fn a_file_cannot_hold_a_bad_rate() {
        assert_eq!(serde_json::from_str::<Rate>("2.5").unwrap(), Rate(2.5));
        let error = serde_json::from_str::<Rate>("0").unwrap_err();
        assert!(error.to_string().starts_with("a request rate must be above zero, not 0;"));
    }
}
