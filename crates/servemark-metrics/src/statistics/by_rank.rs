//! Statistics of a sample by rank, from a function that returns the value at a zero-based rank.

use super::whole;

/// Returns the median of `samples` values.
pub(crate) fn median(samples: usize, value: &mut impl FnMut(usize) -> f64) -> Option<f64> {
    let middle = samples / 2;
    match samples {
        0 => None,
        _ if samples % 2 == 1 => Some(value(middle)),
        _ => Some(f64::midpoint(value(middle - 1), value(middle))),
    }
}

/// Returns a percentile of `samples` values, interpolated linearly between neighbours.
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

/// Returns the nearest-rank percentile: the smallest value that is not below `percent` percent of
/// `samples` values.
pub(crate) fn nearest_rank(
    samples: usize,
    percent: f64,
    value: &mut impl FnMut(usize) -> f64,
) -> Option<f64> {
    let last = samples.checked_sub(1)?;
    let rank = whole((samples as f64 * percent / 100.0).ceil());
    Some(value(rank.saturating_sub(1).min(last)))
}

/// Returns the value at the zero-based index `floor(samples * percent / 100)`.
pub(crate) fn floor_index(
    samples: usize,
    percent: f64,
    value: &mut impl FnMut(usize) -> f64,
) -> Option<f64> {
    let last = samples.checked_sub(1)?;
    Some(value(whole(samples as f64 * percent / 100.0).min(last)))
}
