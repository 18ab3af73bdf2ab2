//! Drawn lengths of prompts and outputs.

use serde::{Deserialize, Serialize};
use servemark_rng::NumpyRandom;

use crate::SpecError;

/// Minimum length as a share of the maximum, from 0 to 1. At 0, lengths are drawn from one token
/// up; at 1, all lengths equal the maximum.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, PartialOrd, Serialize)]
#[serde(into = "f64", try_from = "f64")]
pub struct RangeRatio(f64);

impl RangeRatio {
    /// The ratio 1, with which all lengths equal the maximum.
    pub const FIXED: Self = Self(1.0);

    /// Creates a ratio, which must be in 0 to 1.
    pub fn new(ratio: f64) -> Result<Self, SpecError> {
        (0.0..=1.0).contains(&ratio).then_some(Self(ratio)).ok_or(SpecError::RangeRatio(ratio))
    }

    /// Returns the ratio.
    pub const fn value(self) -> f64 {
        self.0
    }

    /// Draws `count` lengths of at most `longest`. If `longest` is 0, all lengths are 0 and nothing
    /// is drawn, as in SGLang.
    pub(crate) fn draw(self, longest: u32, count: usize, numpy: &mut NumpyRandom) -> Vec<u32> {
        if longest == 0 {
            return vec![0; count];
        }
        let shortest = ((f64::from(longest) * self.0).trunc() as i64).max(1);
        let drawn = numpy.randint_vec(shortest, i64::from(longest) + 1, count);
        // The ratio is at most 1, so the range is never empty.
        drawn.unwrap_or_default().into_iter().map(|length| length.unsigned_abs() as u32).collect()
    }
}

impl TryFrom<f64> for RangeRatio {
    type Error = SpecError;

    fn try_from(ratio: f64) -> Result<Self, SpecError> {
        Self::new(ratio)
    }
}

impl From<RangeRatio> for f64 {
    fn from(ratio: RangeRatio) -> Self {
        ratio.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(longest: u32, ratio: f64, expected: &[u32]) {
        let mut numpy = NumpyRandom::seeded(42);
        let ratio = RangeRatio::new(ratio).unwrap();
        assert_eq!(ratio.draw(longest, expected.len(), &mut numpy), expected);
    }

    #[test]
    fn lengths_are_those_of_sglang() {
        check(1024, 0.0, &[103, 436, 861, 271, 107, 72, 701, 21]);
        check(1024, 0.5, &[614, 947, 782, 618, 583]);
        check(7, 1.0, &[7, 7, 7]);
        check(0, 0.5, &[0, 0]);
    }

    #[test]
    fn a_fixed_length_draws_nothing() {
        let mut numpy = NumpyRandom::seeded(1);
        RangeRatio::new(1.0).unwrap().draw(512, 9, &mut numpy);
        assert_eq!(numpy, NumpyRandom::seeded(1));
    }

    #[test]
    fn a_ratio_lies_in_0_to_1() {
        for bad in [-0.1, 1.5, f64::NAN] {
            assert!(matches!(RangeRatio::new(bad), Err(SpecError::RangeRatio(_))));
        }
        let error = serde_json::from_str::<RangeRatio>("1.5").unwrap_err().to_string();
        assert!(error.starts_with("a range ratio must lie in 0 to 1, not 1.5;"));
    }
}
