//! What is read off a sample by rank, whoever knows the value of each.

use super::whole;

/// The median of so many values.
pub(crate) fn median(samples: usize, value: &mut impl FnMut(usize) -> f64) -> Option<f64> {
    let middle = samples / 2;
    match samples {
        0 => None,
        _ if samples % 2 == 1 => Some(value(middle)),
        _ => Some(f64::midpoint(value(middle - 1), value(middle))),
    }
}

/// The percentile of so many values, linear between neighbours.
pub(crate) fn percentile(
    samples: usize,
    percent: f64,
    value: &mut impl FnMut(usize) -> f64,
) -> Option<f64> {
    let last = samples.checked_sub(1)?;
    let rank = (last as f64 * (percent / 100.0)).clamp(0.0, last as f64);
    let low = whole(rank);
    let (below, above) = (value(low), value((low + 1).min(last)));
    let (distance, share) = (above - below, rank - rank.floor());
    Some(if share < 0.5 { below + distance * share } else { above - distance * (1.0 - share) })
}

/// The smallest of so many values that a share of `percent` does not exceed.
pub(crate) fn nearest_rank(
    samples: usize,
    percent: f64,
    value: &mut impl FnMut(usize) -> f64,
) -> Option<f64> {
    let last = samples.checked_sub(1)?;
    let rank = whole((samples as f64 * percent / 100.0).ceil());
    Some(value(rank.saturating_sub(1).min(last)))
}

/// The value at the whole part of what a share of `percent` of so many values comes to.
pub(crate) fn floor_index(
    samples: usize,
    percent: f64,
    value: &mut impl FnMut(usize) -> f64,
) -> Option<f64> {
    let last = samples.checked_sub(1)?;
    Some(value(whole(samples as f64 * percent / 100.0).min(last)))
}
