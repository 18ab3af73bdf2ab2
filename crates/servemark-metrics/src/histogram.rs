//! A histogram of values of any size, in little memory.

use serde::{Deserialize, Serialize};

use crate::statistics::by_rank;

/// A histogram of a sample of any length in 440 KiB at most.
///
/// Values are whole nanoseconds. Every octave has 1,024 buckets of equal width, so a value read
/// from the histogram is within 0.05 % of the recorded one, and equal to it up to 2,047 ns. The
/// smallest and the largest value are exact. Histograms of the parts of a sample, merged in any
/// order, equal the histogram of the whole.
///
/// ```
/// use servemark_metrics::Histogram;
///
/// let mut one: Histogram = (0..500).map(|ms| ms * 1_000_000).collect();
/// let other: Histogram = (500..1001).map(|ms| ms * 1_000_000).collect();
/// one.merge(&other);
/// let median = one.percentile(50.0).unwrap();
/// assert!((median / 500e6 - 1.0).abs() < 0.0005);
/// assert_eq!(one.max(), Some(1_000_000_000));
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "Sparse", into = "Sparse")]
pub struct Histogram {
    /// Count of each bucket, up to the highest bucket that is not empty.
    counts: Vec<u64>,
    values: u64,
    range: Option<(u64, u64)>,
}

impl Histogram {
    /// Creates an empty histogram.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a value in nanoseconds.
    pub fn record(&mut self, nanos: u64) {
        self.add(bucket(nanos), 1);
        self.widen((nanos, nanos));
    }

    /// Adds all values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, count) in other.filled() {
            self.add(bucket, count);
        }
        if let Some(range) = other.range {
            self.widen(range);
        }
    }

    /// Returns the number of values.
    pub fn len(&self) -> u64 {
        self.values
    }

    /// Returns whether the histogram has no values.
    pub fn is_empty(&self) -> bool {
        self.values == 0
    }

    /// Returns the smallest value in nanoseconds.
    pub fn min(&self) -> Option<u64> {
        self.range.map(|(min, _)| min)
    }

    /// Returns the largest value in nanoseconds.
    pub fn max(&self) -> Option<u64> {
        self.range.map(|(_, max)| max)
    }

    /// Returns a percentile in nanoseconds, interpolated linearly between neighbours as in `NumPy`;
    /// absent for an empty histogram.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        by_rank::percentile(self.values as usize, percent, &mut |rank| self.at(rank as u64))
    }

    /// Returns percentiles in nanoseconds, in the order of `percents`; none for an empty histogram.
    /// Many take little longer than one.
    pub fn percentiles(&self, percents: impl IntoIterator<Item = f64>) -> Vec<f64> {
        let cumulative: Vec<(u64, usize)> = self.cumulative().collect();
        let bucket_at = |rank| {
            let place = cumulative.partition_point(|&(up_to, _)| up_to <= rank);
            cumulative.get(place).map_or(self.counts.len(), |&(_, bucket)| bucket)
        };
        let at = &mut |rank| self.value_at(rank as u64, bucket_at);
        let percents = percents.into_iter();
        percents
            .filter_map(|percent| by_rank::percentile(self.values as usize, percent, at))
            .collect()
    }

    /// Returns the buckets that are not empty, the smallest first: the middle in nanoseconds and the
    /// number of values.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.filled().map(|(bucket, count)| (middle(bucket), count))
    }

    /// Returns the value at a zero-based rank: the smallest, the largest, or the middle of a bucket
    /// between them.
    pub(crate) fn at(&self, rank: u64) -> f64 {
        self.value_at(rank, |rank| self.bucket_at(rank))
    }

    fn value_at(&self, rank: u64, bucket_at: impl FnOnce(u64) -> usize) -> f64 {
        let (min, max) = self.range.unwrap_or_default();
        match rank {
            0 => min as f64,
            _ if rank + 1 >= self.values => max as f64,
            _ => middle(bucket_at(rank)).max(min as f64).min(max as f64),
        }
    }

    fn bucket_at(&self, rank: u64) -> usize {
        let found = self.cumulative().find(|&(up_to, _)| up_to > rank);
        found.map_or(self.counts.len(), |(_, bucket)| bucket)
    }

    fn add(&mut self, bucket: usize, count: u64) {
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] = self.counts[bucket].saturating_add(count);
        self.values = self.values.saturating_add(count);
    }

    fn widen(&mut self, (low, high): (u64, u64)) {
        let (min, max) = self.range.unwrap_or((low, high));
        self.range = Some((min.min(low), max.max(high)));
    }

    /// Returns the buckets that are not empty, each with the number of values in it and below it.
    fn cumulative(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        let mut up_to = 0_u64;
        self.filled().map(move |(bucket, count)| {
            up_to = up_to.saturating_add(count);
            (up_to, bucket)
        })
    }

    fn filled(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.counts.iter().copied().enumerate().filter(|&(_, count)| count > 0)
    }
}

impl FromIterator<u64> for Histogram {
    fn from_iter<I: IntoIterator<Item = u64>>(nanos: I) -> Self {
        let mut histogram = Self::new();
        for nanos in nanos {
            histogram.record(nanos);
        }
        histogram
    }
}

/// Returns the bucket of a value: it combines the leading eleven bits with the number of bits below
/// them.
fn bucket(nanos: u64) -> usize {
    let lower_bits = (u64::BITS - nanos.leading_zeros()).saturating_sub(PRECISION + 1);
    ((lower_bits as usize) << PRECISION) + (nanos >> lower_bits) as usize
}

fn middle(bucket: usize) -> f64 {
    let lower_bits = (bucket >> PRECISION).saturating_sub(1);
    let first = ((bucket - (lower_bits << PRECISION)) as u64) << lower_bits;
    first as f64 + ((1_u64 << lower_bits) - 1) as f64 / 2.0
}

/// Binary logarithm of the number of buckets in an octave.
const PRECISION: u32 = 10;

/// Serialised form of a histogram: the buckets that are not empty, with their counts.
#[derive(Deserialize, Serialize)]
struct Sparse {
    counts: Vec<(usize, u64)>,
    range: Option<(u64, u64)>,
}

impl From<Histogram> for Sparse {
    fn from(histogram: Histogram) -> Self {
        Self { counts: histogram.filled().collect(), range: histogram.range }
    }
}

impl From<Sparse> for Histogram {
    fn from(sparse: Sparse) -> Self {
        let mut histogram = Self { range: sparse.range, ..Self::default() };
        for (bucket, count) in sparse.counts {
            histogram.add(bucket.min(self::bucket(u64::MAX)), count);
        }
        histogram
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::statistics;

    /// Generates values of every size, small ones as often as large ones.
    fn values() -> impl Strategy<Value = Vec<u64>> {
        let value = (any::<u64>(), 0u32..64).prop_map(|(value, less)| value >> less);
        prop::collection::vec(value, 1..200)
    }

    proptest! {
        #[test]
        fn a_percentile_is_right_to_a_twentieth_of_a_percent(
            values in values(),
            percent in 0.0f64..=100.0,
        ) {
            let mut sorted: Vec<f64> = values.iter().map(|&value| value as f64).collect();
            sorted.sort_unstable_by(f64::total_cmp);
            let exact = statistics::percentile(&sorted, percent).unwrap();
            let histogram: Histogram = values.iter().copied().collect();
            let found = histogram.percentile(percent).unwrap();
            prop_assert!((found - exact).abs() <= exact * 0.0005, "{} is not {}", found, exact);
        }

        #[test]
        fn percentiles_are_those_that_are_read_alone(
            values in values(),
            percents in prop::collection::vec(0.0f64..=100.0, 0..20),
        ) {
            let histogram: Histogram = values.into_iter().collect();
            let alone: Vec<f64> =
                percents.iter().filter_map(|&percent| histogram.percentile(percent)).collect();
            prop_assert_eq!(histogram.percentiles(percents), alone);
        }

        #[test]
        fn parts_merge_into_the_whole(one in values(), other in values()) {
            let mut merged: Histogram = one.iter().copied().collect();
            merged.merge(&other.iter().copied().collect());
            let whole: Histogram = one.into_iter().chain(other).collect();
            prop_assert_eq!(&merged, &whole);
            let json = serde_json::to_string(&merged).unwrap();
            prop_assert_eq!(serde_json::from_str::<Histogram>(&json).unwrap(), whole);
        }

        #[test]
        fn a_small_value_is_itself(nanos in 0u64..2048) {
            let alone: Histogram = [nanos].into_iter().collect();
            prop_assert_eq!(middle(bucket(nanos)).to_bits(), (nanos as f64).to_bits());
            prop_assert_eq!(alone.percentile(50.0), Some(nanos as f64));
        }
    }

    #[test]
    fn the_largest_value_has_the_last_of_440_kib_of_buckets() {
        assert_eq!((bucket(u64::MAX) + 1) * size_of::<u64>(), 440 * 1024);
    }

    #[test]
    fn a_file_that_makes_no_sense_does_no_harm() {
        let most = u64::MAX;
        let json = format!(r#"{{"counts":[[{most},{most}],[3,{most}]],"range":[9,2]}}"#);
        let strange: Histogram = serde_json::from_str(&json).unwrap();
        assert_eq!((strange.len(), strange.percentile(50.0)), (most, Some(2.0)));
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        let nothing = Histogram::new();
        assert!(nothing.is_empty());
        assert_eq!((nothing.percentile(50.0), nothing.min(), nothing.max()), (None, None, None));
        assert!(nothing.percentiles([50.0]).is_empty());
    }
}
