//! What is known of a number: its value in the sample, and where the truth lies.

use std::fmt;

use serde::Serialize;

/// An estimate of one number of the process that was sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number in the sample itself; infinite where values without end reach it.
    pub value: f64,
    /// Where the number of the process lies, with the confidence that was asked for.
    pub bounds: Bounds,
    /// A lower bound that also holds where the sample is too short for an interval. Slow phases that
    /// a short sample did not see can only raise a latency, so this end stays safe.
    pub at_least: f64,
    /// Standard error of the number, where the sample tells it.
    pub error: Option<f64>,
    /// Number of values in the sample.
    pub samples: usize,
    /// Number of independent values that the sample is worth.
    pub effective: f64,
}

/// A confidence interval, or why there is none. Closed: it is known or it is not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bounds {
    /// The interval.
    Known {
        /// Its lower end.
        low: f64,
        /// Its upper end.
        high: f64,
    },
    /// The sample cannot tell.
    TooShort {
        /// Number of times longer the sample should be, as far as this sample shows.
        times: f64,
        /// Why.
        reason: Reason,
    },
}

/// Why a sample supports no interval.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// Values stay alike for too large a part of the sample.
    Correlated,
    /// There are too few requests.
    FewRequests,
    /// A few values far from all others decide the number.
    RareValues,
    /// Values rise or fall from the start of the sample to its end.
    Trend,
}

impl Bounds {
    /// The interval, where there is one.
    pub fn known(self) -> Option<(f64, f64)> {
        match self {
            Self::Known { low, high } => Some((low, high)),
            Self::TooShort { .. } => None,
        }
    }

    /// The interval with both ends changed by an increasing function, such as a change of unit.
    #[must_use]
    pub fn map(self, change: impl Fn(f64) -> f64) -> Self {
        match self {
            Self::Known { low, high } => Self::Known { low: change(low), high: change(high) },
            Self::TooShort { .. } => self,
        }
    }
}

impl Estimate {
    /// How far the interval reaches from the value, on its wider side; nothing without an interval.
    pub fn reach(&self) -> Option<f64> {
        let (low, high) = self.bounds.known()?;
        Some((self.value - low).max(high - self.value))
    }

    /// The estimate in another unit.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            bounds: self.bounds.map(|end| end * factor),
            at_least: self.at_least * factor,
            error: self.error.map(|error| error * factor),
            ..self
        }
    }
}

/// `correlated for too long`
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
