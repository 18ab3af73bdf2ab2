//! How often each group of prompts is used.

use serde::{Deserialize, Serialize};
use servemark_rng::Pcg64;

use crate::SpecError;

/// How often each group of prompts is used.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Popularity {
    /// All groups are used equally often.
    #[default]
    Uniform,
    /// The group of one-based rank k is used in proportion to 1 / k^alpha.
    Zipf {
        /// Exponent of the distribution.
        alpha: ZipfAlpha,
        /// Seed of a separate generator that draws the groups, so that lengths and texts are those
        /// of [`Uniform`](Self::Uniform).
        seed: u32,
    },
}

/// Exponent of a Zipf distribution: finite and above zero.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, PartialOrd, Serialize)]
#[serde(into = "f64", try_from = "f64")]
pub struct ZipfAlpha(f64);

impl ZipfAlpha {
    /// Creates an exponent, which must be finite and above zero.
    pub fn new(alpha: f64) -> Result<Self, SpecError> {
        let is_one = alpha.is_finite() && alpha > 0.0;
        is_one.then_some(Self(alpha)).ok_or(SpecError::ZipfAlpha(alpha))
    }

    /// Returns the exponent.
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for ZipfAlpha {
    type Error = SpecError;

    fn try_from(alpha: f64) -> Result<Self, SpecError> {
        Self::new(alpha)
    }
}

impl From<ZipfAlpha> for f64 {
    fn from(alpha: ZipfAlpha) -> Self {
        alpha.0
    }
}

impl Popularity {
    /// Returns the group index of each of the `groups * per_group` prompts.
    pub(crate) fn assign(self, groups: usize, per_group: usize) -> Vec<usize> {
        let prompts = groups * per_group;
        match self {
            Self::Uniform => (0..prompts).map(|prompt| prompt / per_group).collect(),
            Self::Zipf { alpha, seed } => {
                let weights = shares(groups, alpha);
                let drawn = Pcg64::seeded(seed.into()).choice_weighted_vec(&weights, prompts);
                drawn.expect("the share of every rank is a positive number")
            }
        }
    }
}

/// Returns the share of each rank. Shares rather than weights are drawn from, because SGLang passes
/// shares to NumPy and the difference affects the last bits.
fn shares(ranks: usize, alpha: ZipfAlpha) -> Vec<f64> {
    let weight = |rank: usize| 1.0 / (rank as f64).powf(alpha.0);
    let weights: Vec<f64> = (1..=ranks).map(weight).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_groups_stand_together() {
        assert_eq!(Popularity::Uniform.assign(3, 2), [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn zipf_groups_are_those_of_sglang() {
        let alpha = ZipfAlpha::new(1.2).unwrap();
        let groups = Popularity::Zipf { alpha, seed: 42 }.assign(4, 3);
        assert_eq!(groups, [2, 0, 2, 1, 0, 3, 2, 2, 0, 0, 0, 3]);
    }

    #[test]
    fn an_exponent_is_finite_and_above_zero() {
        for bad in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert!(matches!(ZipfAlpha::new(bad), Err(SpecError::ZipfAlpha(_))));
        }
        let plan = r#"{"zipf":{"alpha":1.5,"seed":7}}"#;
        let zipf: Popularity = serde_json::from_str(plan).unwrap();
        assert_eq!(serde_json::to_string(&zipf).unwrap(), plan);
        assert!(serde_json::from_str::<Popularity>(&plan.replace("1.5", "0")).is_err());
    }
}
