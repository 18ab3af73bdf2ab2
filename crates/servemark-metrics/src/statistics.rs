//! Mean, standard deviation and percentiles, equal to `NumPy` 2.4 bit for bit.
//!
//! `NumPy` sums in pairs, so the mean depends on the order of the sample: callers keep it as it was
//! measured. Its percentile interpolates from the nearer neighbour, which differs in the last bit
//! from the one-sided formula.

/// Returns the sum of a sample, added in pairs like `numpy.sum`.
pub fn sum(sample: &[f64]) -> f64 {
    match sample.len() {
        0 => 0.0,
        length => sum_in_pairs(length, &mut sample.iter().copied()),
    }
}

/// Returns the mean of a sample; absent for an empty one.
pub fn mean(sample: &[f64]) -> Option<f64> {
    Moments::of(sample.len(), || sample.iter().copied()).map(|moments| moments.mean)
}

/// Returns the population standard deviation of a sample; absent for an empty one.
pub fn std(sample: &[f64]) -> Option<f64> {
    Moments::of(sample.len(), || sample.iter().copied()).map(|moments| moments.std())
}

/// Returns the median of a sorted sample; absent for an empty one.
pub fn median(sorted: &[f64]) -> Option<f64> {
    by_rank::median(sorted.len(), &mut |rank| sorted[rank])
}

/// Returns the median of a sample in any order; absent for an empty one.
pub(crate) fn median_of(mut sample: Vec<f64>) -> Option<f64> {
    servemark_statistics::sort(&mut sample);
    median(&sample)
}

/// Returns a percentile of a sorted sample, interpolated linearly between neighbours; absent for an
/// empty sample.
pub fn percentile(sorted: &[f64], percent: f64) -> Option<f64> {
    by_rank::percentile(sorted.len(), percent, &mut |rank| sorted[rank])
}

/// Returns the nearest-rank percentile of a sorted sample: the smallest value that is not below
/// `percent` percent of the sample.
pub fn nearest_rank(sorted: &[f64], percent: f64) -> Option<f64> {
    by_rank::nearest_rank(sorted.len(), percent, &mut |rank| sorted[rank])
}

/// Returns the value of a sorted sample at the zero-based index `floor(n * percent / 100)`.
pub fn floor_index(sorted: &[f64], percent: f64) -> Option<f64> {
    by_rank::floor_index(sorted.len(), percent, &mut |rank| sorted[rank])
}

/// Returns the integer part of a rank, a count or a number of seconds, none of which is below zero.
#[expect(clippy::cast_sign_loss, reason = "a value below zero becomes zero, as it should")]
pub(crate) fn whole(value: f64) -> usize {
    value as usize
}

/// Mean and standard deviation of a sample that is iterated twice and never stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    pub(crate) samples: usize,
    pub(crate) mean: f64,
    squared_deviations: f64,
}

impl Moments {
    /// Computes the moments of `samples` values; absent for an empty sample.
    pub(crate) fn of<I: Iterator<Item = f64>>(
        samples: usize,
        values: impl Fn() -> I,
    ) -> Option<Self> {
        let mean = (samples > 0).then(|| sum_in_pairs(samples, &mut values()) / samples as f64)?;
        let mut squares = values().map(|value| (value - mean) * (value - mean));
        let squared_deviations = sum_in_pairs(samples, &mut squares);
        Some(Self { samples, mean, squared_deviations })
    }

    /// Returns the population standard deviation.
    pub(crate) fn std(&self) -> f64 {
        (self.squared_deviations / self.samples as f64).sqrt()
    }
}

/// Returns the sum of the next `length` values; `length` is at least one.
fn sum_in_pairs(length: usize, values: &mut impl Iterator<Item = f64>) -> f64 {
    match length {
        0..8 => values.take(length).fold(-0.0, |total, value| total + value),
        8..=LEAF => {
            let mut leaf = [0.0; LEAF];
            leaf[..length].iter_mut().zip(values).for_each(|(place, value)| *place = value);
            sum_by_eight(&leaf[..length])
        }
        _ => {
            let half = length / 2;
            let left = half - half % 8;
            sum_in_pairs(left, values) + sum_in_pairs(length - left, values)
        }
    }
}

/// Largest number of values that `NumPy` adds without halving.
const LEAF: usize = 128;

fn sum_by_eight(sample: &[f64]) -> f64 {
    let (blocks, tail) = sample.as_chunks::<8>();
    let [r0, r1, r2, r3, r4, r5, r6, r7] =
        blocks.iter().skip(1).fold(blocks[0], |mut lanes, block| {
            lanes.iter_mut().zip(block).for_each(|(lane, value)| *lane += value);
            lanes
        });
    let blocks = ((r0 + r1) + (r2 + r3)) + ((r4 + r5) + (r6 + r7));
    tail.iter().fold(blocks, |total, value| total + value)
}

pub(crate) mod by_rank;
pub(crate) mod order;
#[cfg(test)]
mod tests;
