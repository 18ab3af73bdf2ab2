//! Mean, spread and percentiles, equal to `NumPy` 2.4 bit for bit.
//!
//! `NumPy` sums in pairs, so the mean depends on the order of the sample: keep it as it was
//! measured. Its percentile interpolates from whichever neighbour is nearer, which differs in the
//! last bit from the one-sided formula.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The sum of a sample, in pairs as `numpy.sum` adds.
pub fn sum(sample: &[f64]) -> f64 {
    match sample.len() {
        0 => 0.0,
        1..8 => sample.iter().fold(-0.0, |total, value| total + value),
        8..=128 => sum_by_eight(sample),
        length => {
            let half = length / 2;
            let (left, right) = sample.split_at(half - half % 8);
            sum(left) + sum(right)
        }
    }
}

/// The mean of a sample; nothing of an empty one.
pub fn mean(sample: &[f64]) -> Option<f64> {
    (!sample.is_empty()).then(|| sum(sample) / sample.len() as f64)
}

/// The population standard deviation of a sample; nothing of an empty one.
pub fn std(sample: &[f64]) -> Option<f64> {
    Some((squared_deviations(sample)? / sample.len() as f64).sqrt())
}

/// The median of a sorted sample; nothing of an empty one.
pub fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[middle - 1], upper) })
}

/// The percentile of a sorted sample, linear between neighbours; nothing of an empty one.
pub fn percentile(sorted: &[f64], percent: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let rank = (last as f64 * (percent / 100.0)).clamp(0.0, last as f64);
    let low = whole(rank);
    let (below, above) = (sorted[low], sorted[(low + 1).min(last)]);
    let (distance, share) = (above - below, rank - rank.floor());
    Some(if share < 0.5 { below + distance * share } else { above - distance * (1.0 - share) })
}

/// The smallest value of a sorted sample that a share of `percent` does not exceed.
pub fn nearest_rank(sorted: &[f64], percent: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let rank = whole((sorted.len() as f64 * (percent / 100.0)).ceil());
    Some(sorted[rank.saturating_sub(1).min(last)])
}

/// The two-sided 95 % confidence interval of the mean by Student's t, as though the values were
/// independent draws of one distribution. It needs two values.
pub fn mean_interval(sample: &[f64]) -> Option<(f64, f64)> {
    let degrees = sample.len().checked_sub(1).filter(|&degrees| degrees > 0)? as f64;
    let mean = mean(sample)?;
    let standard_error =
        (squared_deviations(sample)? / degrees).sqrt() / (sample.len() as f64).sqrt();
    let quantile = StudentsT::new(0.0, 1.0, degrees).ok()?.inverse_cdf(0.975);
    let half = quantile * standard_error;
    Some((mean - half, mean + half))
}

/// The whole part of what is a rank, a count or a number of seconds, and so never below zero.
#[expect(clippy::cast_sign_loss, reason = "a value below zero becomes zero, as it should")]
pub(crate) fn whole(value: f64) -> usize {
    value as usize
}

fn squared_deviations(sample: &[f64]) -> Option<f64> {
    let mean = mean(sample)?;
    let squares: Vec<f64> = sample.iter().map(|value| (value - mean) * (value - mean)).collect();
    Some(sum(&squares))
}

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

#[cfg(test)]
mod tests;
