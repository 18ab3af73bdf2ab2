//! Mean, spread and percentiles, equal to `NumPy` 2.4 bit for bit.
//!
//! `NumPy` sums in pairs, so the mean depends on the order of the sample: keep it as it was
//! measured. Its percentile interpolates from whichever neighbour is nearer, which differs in the
//! last bit from the one-sided formula.

/// The sum of a sample, in pairs as `numpy.sum` adds.
pub fn sum(sample: &[f64]) -> f64 {
    match sample.len() {
        0 => 0.0,
        length => sum_in_pairs(length, &mut sample.iter().copied()),
    }
}

/// The mean of a sample; nothing of an empty one.
pub fn mean(sample: &[f64]) -> Option<f64> {
    Moments::of(sample.len(), || sample.iter().copied()).map(|moments| moments.mean)
}

/// The population standard deviation of a sample; nothing of an empty one.
pub fn std(sample: &[f64]) -> Option<f64> {
    Moments::of(sample.len(), || sample.iter().copied()).map(|moments| moments.std())
}

/// The median of a sorted sample; nothing of an empty one.
pub fn median(sorted: &[f64]) -> Option<f64> {
    by_rank::median(sorted.len(), &mut |rank| sorted[rank])
}

/// The percentile of a sorted sample, linear between neighbours; nothing of an empty one.
pub fn percentile(sorted: &[f64], percent: f64) -> Option<f64> {
    by_rank::percentile(sorted.len(), percent, &mut |rank| sorted[rank])
}

/// The smallest value of a sorted sample that a share of `percent` does not exceed.
pub fn nearest_rank(sorted: &[f64], percent: f64) -> Option<f64> {
    by_rank::nearest_rank(sorted.len(), percent, &mut |rank| sorted[rank])
}

/// The value of a sorted sample at the whole part of what a share of `percent` of it comes to,
/// counted from zero.
pub fn floor_index(sorted: &[f64], percent: f64) -> Option<f64> {
    by_rank::floor_index(sorted.len(), percent, &mut |rank| sorted[rank])
}

/// The whole part of what is a rank, a count or a number of seconds, and so never below zero.
#[expect(clippy::cast_sign_loss, reason = "a value below zero becomes zero, as it should")]
pub(crate) fn whole(value: f64) -> usize {
    value as usize
}

/// Mean and spread of a sample that is walked through twice and never kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    pub(crate) samples: usize,
    pub(crate) mean: f64,
    squared_deviations: f64,
}

impl Moments {
    /// Of so many values; nothing of none.
    pub(crate) fn of<I: Iterator<Item = f64>>(
        samples: usize,
        values: impl Fn() -> I,
    ) -> Option<Self> {
        let mean = (samples > 0).then(|| sum_in_pairs(samples, &mut values()) / samples as f64)?;
        let mut squares = values().map(|value| (value - mean) * (value - mean));
        let squared_deviations = sum_in_pairs(samples, &mut squares);
        Some(Self { samples, mean, squared_deviations })
    }

    /// The population standard deviation.
    pub(crate) fn std(&self) -> f64 {
        (self.squared_deviations / self.samples as f64).sqrt()
    }
}

/// The sum of the next `length` values, of which there is at least one.
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

/// So many values `NumPy` adds without halving.
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
