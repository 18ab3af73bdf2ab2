//! Exact percentiles of whole microseconds, in memory that does not grow with the sample.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::statistics::by_rank;

/// Counts of each number of microseconds in a sample.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Counts of the values below [`NEAR`], up to the largest one in the sample.
    near: Vec<usize>,
    far: BTreeMap<u64, usize>,
    samples: usize,
}

impl Tally {
    pub(super) fn add(&mut self, micros: u64) {
        self.samples += 1;
        match usize::try_from(micros) {
            Ok(near) if near < NEAR => {
                self.near.resize(self.near.len().max(near + 1), 0);
                self.near[near] += 1;
            }
            _ => *self.far.entry(micros).or_default() += 1,
        }
    }

    /// Returns the percentile, interpolated linearly between neighbours; absent for an empty
    /// sample.
    pub(super) fn percentile(&self, percent: f64) -> Option<f64> {
        by_rank::percentile(self.samples, percent, &mut |rank| self.ranked(rank) as f64)
    }

    pub(super) fn spread(&self) -> Spread {
        Spread {
            samples: self.samples as u64,
            median_us: self.percentile(50.0),
            p99_us: self.percentile(99.0),
            p999_us: self.percentile(99.9),
            max_us: self.percentile(100.0),
        }
    }

    /// Returns the value at a zero-based rank, which must be below the number of samples.
    fn ranked(&self, rank: usize) -> u64 {
        let mut cumulative = 0;
        let reached = self.counts().find(|&(_, count)| {
            cumulative += count;
            rank < cumulative
        });
        reached.expect("a rank below the number of samples").0
    }

    fn counts(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        let near = self.near.iter().enumerate().map(|(value, &count)| (value as u64, count));
        near.chain(self.far.iter().map(|(&value, &count)| (value, count)))
    }
}

impl FromIterator<u64> for Tally {
    fn from_iter<I: IntoIterator<Item = u64>>(micros: I) -> Self {
        let mut tally = Self::default();
        micros.into_iter().for_each(|micros| tally.add(micros));
        tally
    }
}

/// Percentiles of a sample of microseconds. They are interpolated linearly between neighbours even
/// in a small sample, so that a worst case is never hidden.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Spread {
    /// Number of values.
    pub samples: u64,
    /// The median.
    pub median_us: Option<f64>,
    /// The 99th percentile.
    pub p99_us: Option<f64>,
    /// The 99.9th percentile.
    pub p999_us: Option<f64>,
    /// The largest value.
    pub max_us: Option<f64>,
}

/// Upper end of the values that are counted in a vector. Nearly all lags and gaps lie below; their
/// counts take half a megabyte.
const NEAR: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::statistics;

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_sorted_sample(
            micros in prop::collection::vec(prop_oneof![0u64..20, 65_530u64..65_545, 0u64..9_000_000], 1..60),
            percent in 0.0f64..=100.0,
        ) {
            let mut sorted: Vec<f64> = micros.iter().map(|&micros| micros as f64).collect();
            sorted.sort_unstable_by(f64::total_cmp);
            let expected = statistics::percentile(&sorted, percent).expect("a sample");
            let tally: Tally = micros.into_iter().collect();
            let found = tally.percentile(percent).expect("a sample");
            prop_assert!((found - expected).abs() <= 1e-9 * expected.max(1.0), "{found} {expected}");
        }
    }

    #[test]
    fn an_empty_sample_has_no_percentiles() {
        assert_eq!(Tally::default().spread(), Spread::default());
    }
}
