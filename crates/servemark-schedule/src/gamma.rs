//! vLLM's arrivals: gaps of a gamma distribution, at a constant or a growing rate.

use serde::{Deserialize, Serialize};
use servemark_rng::NumpyRandom;

use crate::{Rate, ScheduleError};

/// Evenness of arrivals: the shape of the gamma distribution of their gaps. One makes the gaps
/// exponential, a value below one gives bursts, infinity makes all gaps equal.
///
/// In a file infinity is `null`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, PartialOrd, Serialize)]
#[serde(into = "Option<f64>", try_from = "Option<f64>")]
pub struct Burstiness(f64);

impl Burstiness {
    /// All gaps are equal.
    pub const EVEN: Self = Self(f64::INFINITY);

    /// Creates a burstiness from a shape above zero.
    pub fn new(shape: f64) -> Result<Self, ScheduleError> {
        (shape > 0.0).then_some(Self(shape)).ok_or(ScheduleError::Burstiness(shape))
    }

    /// Returns the shape.
    pub const fn shape(self) -> f64 {
        self.0
    }

    fn gap_secs(self, rate: f64, numpy: &mut NumpyRandom) -> f64 {
        if self == Self::EVEN { 1.0 / rate } else { numpy.gamma(self.0, 1.0 / (rate * self.0)) }
    }
}

impl Default for Burstiness {
    fn default() -> Self {
        Self(1.0)
    }
}

impl TryFrom<Option<f64>> for Burstiness {
    type Error = ScheduleError;

    fn try_from(shape: Option<f64>) -> Result<Self, ScheduleError> {
        Self::new(shape.unwrap_or(f64::INFINITY))
    }
}

impl From<Burstiness> for Option<f64> {
    fn from(burstiness: Burstiness) -> Self {
        Some(burstiness.0).filter(|shape| shape.is_finite())
    }
}

/// A rate that grows from the first request to the last.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "Ends")]
pub struct Ramp {
    growth: RampShape,
    from: Rate,
    to: Rate,
}

/// How a rate grows. Closed: by a constant amount or by a constant factor.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RampShape {
    /// The rate grows by a constant amount from each request to the next.
    Linear,
    /// The rate grows by a constant factor from each request to the next.
    Exponential,
}

impl Ramp {
    /// Creates a ramp; an error if it falls.
    pub fn new(growth: RampShape, from: Rate, to: Rate) -> Result<Self, ScheduleError> {
        if from > to {
            return Err(ScheduleError::FallingRamp(from.per_second(), to.per_second()));
        }
        Ok(Self { growth, from, to })
    }

    /// Returns the rate at the first request.
    pub const fn from(&self) -> Rate {
        self.from
    }

    /// Returns the rate at the last request.
    pub const fn to(&self) -> Rate {
        self.to
    }

    /// Returns how the rate grows.
    pub const fn growth(&self) -> RampShape {
        self.growth
    }

    /// Returns the rate at request number `request`, counted from zero, of `requests`.
    fn at(&self, request: usize, requests: usize) -> f64 {
        let progress = request as f64 / requests.saturating_sub(1).max(1) as f64;
        let (from, to) = (self.from.per_second(), self.to.per_second());
        match self.growth {
            RampShape::Linear => from + (to - from) * progress,
            RampShape::Exponential => from * (to / from).powf(progress),
        }
    }
}

/// The ramp as it is written in a file.
#[derive(Deserialize)]
struct Ends {
    growth: RampShape,
    from: Rate,
    to: Rate,
}

impl TryFrom<Ends> for Ramp {
    type Error = ScheduleError;

    fn try_from(Ends { growth, from, to }: Ends) -> Result<Self, ScheduleError> {
        Self::new(growth, from, to)
    }
}

/// Returns when requests at one rate are due, in seconds: each one gap after the previous, the
/// first one gap after the start. All times are scaled so that the last request is due when the
/// rate implies.
pub(crate) fn at_rate(
    rate: Rate,
    burstiness: Burstiness,
    requests: usize,
    numpy: &mut NumpyRandom,
) -> Vec<f64> {
    let rate = rate.per_second();
    let due = add_up((0..requests).map(|_| burstiness.gap_secs(rate, numpy)));
    match due.last() {
        Some(last) if *last != 0.0 => {
            let stretch = requests as f64 / rate / last;
            due.iter().map(|due| due * stretch).collect()
        }
        _ => due,
    }
}

/// Returns when requests at a growing rate are due, in seconds; the times are not scaled.
pub(crate) fn on_ramp(
    ramp: &Ramp,
    burstiness: Burstiness,
    requests: usize,
    numpy: &mut NumpyRandom,
) -> Vec<f64> {
    let rates = (0..requests).map(|request| ramp.at(request, requests));
    add_up(rates.map(|rate| burstiness.gap_secs(rate, numpy)))
}

fn add_up(gaps: impl Iterator<Item = f64>) -> Vec<f64> {
    let sums = gaps.scan(0.0, |sum, gap| {
        *sum += gap;
        Some(*sum)
    });
    sums.collect()
}

#[cfg(test)]
#[expect(clippy::cast_sign_loss, reason = "rates are above zero")]
mod tests {
    use super::*;

    fn rate(per_second: f64) -> Rate {
        Rate::new(per_second).unwrap()
    }

    #[test]
    fn a_ramp_begins_and_ends_where_it_says() {
        for growth in [RampShape::Linear, RampShape::Exponential] {
            let ramp = Ramp::new(growth, rate(2.0), rate(8.0)).unwrap();
            let ends = [ramp.at(0, 9), ramp.at(8, 9), ramp.at(0, 1)].map(|rate| rate.round() as u8);
            assert_eq!(ends, [2, 8, 2], "{growth:?}");
        }
    }

    #[test]
    fn a_ramp_does_not_fall() {
        let message = Ramp::new(RampShape::Linear, rate(9.0), rate(5.0)).unwrap_err().to_string();
        assert_eq!(message, "a ramp must not fall, as it does from 9 to 5 requests per second");
        let json = r#"{"growth":"linear","from":9,"to":5}"#;
        assert!(serde_json::from_str::<Ramp>(json).is_err());
    }

    #[test]
    fn a_burstiness_is_above_zero() {
        for bad in [0.0, -1.0, f64::NAN] {
            assert!(matches!(Burstiness::new(bad), Err(ScheduleError::Burstiness(_))));
        }
        assert!(serde_json::from_str::<Burstiness>("0").is_err());
    }

    #[test]
    fn even_gaps_draw_nothing() {
        let mut numpy = NumpyRandom::seeded(1);
        assert_eq!(at_rate(rate(4.0), Burstiness::EVEN, 3, &mut numpy), [0.25, 0.5, 0.75]);
        assert_eq!(numpy, NumpyRandom::seeded(1));
        assert!(at_rate(rate(4.0), Burstiness::default(), 0, &mut numpy).is_empty());
    }
}
