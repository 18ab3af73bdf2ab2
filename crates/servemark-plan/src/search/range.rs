//! Range and resolution of a search.

use serde::{Deserialize, Serialize};

use super::SearchError;

/// The values that a search may try, and the one with which it begins.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SearchRange {
    /// First value.
    pub start: f64,
    /// Smallest value.
    pub lower: f64,
    /// Largest value.
    pub upper: f64,
    /// Resolution of the search.
    pub grain: Grain,
}

/// Smallest difference between two values of a search. The enum is closed.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grain {
    /// Whole numbers, down to two consecutive ones.
    Whole,
    /// Any numbers, until one exceeds the other by at most this share.
    Share(f64),
}

impl SearchRange {
    /// Creates a range from `lower` to `upper` that begins at `start`, or at the bound nearest to
    /// it.
    pub fn new(start: f64, lower: f64, upper: f64, grain: Grain) -> Result<Self, SearchError> {
        let bounds_fit = lower > 0.0 && lower <= upper && upper.is_finite();
        if !bounds_fit || start.is_nan() {
            return Err(SearchError::Bounds { lower, upper });
        }
        if let Grain::Share(share) = grain
            && !(share > 0.0 && share < 1.0)
        {
            return Err(SearchError::Precision { share });
        }
        let [lower, upper] = [lower, upper].map(|bound| grain.fit(bound));
        Ok(Self { start: grain.fit(start).clamp(lower, upper), lower, upper, grain })
    }

    /// Creates a range from `start / 16` to `start * 1024`.
    pub fn around(start: f64, grain: Grain) -> Result<Self, SearchError> {
        Self::new(start, start / 16.0, start * 1024.0, grain)
    }

    /// Returns twice a value, or the upper bound.
    pub(super) fn doubled(&self, value: f64) -> f64 {
        (value * 2.0).min(self.upper)
    }

    /// Returns half a value, or the lower bound.
    pub(super) fn halved(&self, value: f64) -> f64 {
        self.grain.fit(value / 2.0).max(self.lower)
    }

    /// Returns a value between two; absent if they are as near as the grain allows.
    pub(super) fn between(&self, low: f64, high: f64) -> Option<f64> {
        let middle = f64::midpoint(low, high);
        let middle = match self.grain {
            Grain::Whole => middle.floor(),
            Grain::Share(share) if high <= low * (1.0 + share) => return None,
            Grain::Share(_) => rounded(middle, (high - low) / 10.0),
        };
        (low < middle && middle < high).then_some(middle)
    }
}

impl Grain {
    fn fit(self, value: f64) -> f64 {
        match self {
            Self::Whole => value.floor().max(1.0),
            Self::Share(_) => value,
        }
    }
}

/// Rounds a number to few digits, by at most `by`.
fn rounded(number: f64, by: f64) -> f64 {
    let digits = -by.log10().floor();
    let scale = 10f64.powi(digits as i32);
    (number * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(grain: Grain) -> SearchRange {
        SearchRange::new(10.0, 1.0, 1000.0, grain).unwrap()
    }

    #[test]
    fn values_between_have_few_digits_and_come_to_an_end() {
        let rates = range(Grain::Share(0.02));
        assert_eq!(rates.between(100.0, 200.0), Some(150.0));
        assert_eq!(rates.between(12.5, 25.0), Some(19.0));
        assert_eq!(rates.between(150.0, 163.0), Some(157.0));
        assert_eq!(rates.between(100.0, 102.0), None);
        let limits = range(Grain::Whole);
        assert_eq!((limits.between(4.0, 8.0), limits.between(4.0, 5.0)), (Some(6.0), None));
    }

    #[test]
    fn a_start_outside_begins_at_the_bound() {
        let at = |start| Some(SearchRange::new(start, 2.0, 64.0, Grain::Whole).unwrap().start);
        assert_eq!([at(0.5), at(7.9), at(100.0)], [Some(2.0), Some(7.0), Some(64.0)]);
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for (lower, upper) in [(0.0, 1.0), (2.0, 1.0), (1.0, f64::INFINITY), (f64::NAN, 1.0)] {
            let error = SearchRange::new(1.0, lower, upper, Grain::Whole).unwrap_err();
            assert!(matches!(error, SearchError::Bounds { .. }), "{error}");
        }
        let error = SearchRange::new(1.0, 1.0, 2.0, Grain::Share(0.0)).unwrap_err().to_string();
        assert_eq!(error, "the precision must lie between 0 and 1, not 0");
    }
}
