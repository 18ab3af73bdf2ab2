//! An estimate: the value in the sample, and bounds on the true value.

use std::fmt;

use serde::Serialize;

/// An estimate of one number of the process that was sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Value in the sample itself; infinite if infinite values reach it.
    pub value: f64,
    /// Confidence interval of the true value, with the confidence that was asked for.
    pub bounds: Bounds,
    /// Lower bound that also holds if the sample is too short for an interval. Slow phases that a
    /// short sample missed can only raise a latency, so this end stays safe.
    pub at_least: f64,
    /// Standard error of the value; absent if the sample does not show it.
    pub error: Option<f64>,
    /// Part of the value that the upper end of the interval leaves at least for what none of the sample's
    /// requests met. It shrinks with the number of requests, and not with its square root.
    pub unseen: f64,
    /// Number of values in the sample.
    pub samples: usize,
    /// Effective sample size: the number of independent values that carry as much information.
    pub effective: f64,
}

/// A confidence interval, or the reason why there is none. The enum is closed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bounds {
    /// The interval.
    Known {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// The sample does not suffice for an interval.
    TooShort {
        /// Factor by which the sample should be longer, as far as this sample shows.
        times: f64,
        /// Why the sample does not suffice.
        reason: Reason,
    },
}

/// Reason why a sample supports no interval.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Values are similar for too large a part of the sample.
    Correlated,
    /// There are too few requests.
    FewRequests,
    /// A few values far from all others determine the number.
    RareValues,
    /// Values rise or fall from the start of the sample to its end.
    Trend,
}

impl Bounds {
    /// Returns the interval, if there is one.
    pub fn interval(self) -> Option<(f64, f64)> {
        match self {
            Self::Known { low, high } => Some((low, high)),
            Self::TooShort { .. } => None,
        }
    }

    /// Applies an increasing function, such as a change of unit, to both ends of the interval.
    #[must_use]
    pub fn map(self, change: impl Fn(f64) -> f64) -> Self {
        match self {
            Self::Known { low, high } => Self::Known { low: change(low), high: change(high) },
            Self::TooShort { .. } => self,
        }
    }
}

impl Estimate {
    /// Returns the distance from the value to the farther end of the interval; absent without an
    /// interval.
    pub fn reach(&self) -> Option<f64> {
        let (low, high) = self.bounds.interval()?;
        Some((self.value - low).max(high - self.value))
    }

    /// Converts the estimate to another unit.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            bounds: self.bounds.map(|end| end * factor),
            at_least: self.at_least * factor,
            error: self.error.map(|error| error * factor),
            unseen: self.unseen * factor,
            ..self
        }
    }
}

/// Displays the reason in words, for example `correlated for too long`.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Correlated => "correlated for too long",
            Self::FewRequests => "too few requests",
            Self::RareValues => "a few rare values decide it",
            Self::Trend => "values drift through the run",
        })
    }
}
