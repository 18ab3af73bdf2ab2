//! Percentiles of correlated and clustered values.

use crate::clustering::clustering;
use crate::dependence::{Dependence, longest_length};
use crate::mean::{KnownParts, NARROW, NarrowRange, median_and_distance};
use crate::ranks::{fewest_draws, rank_bounds, whole};
use crate::student::normal_quantile;
use crate::{Bounds, Estimate, Observations, Reason, moments};

/// Estimates a percentile of the process from a sample, by ranks of the effective sample size.
pub(crate) fn percentile(
    sample: &Observations,
    sorted: &[f64],
    share: f64,
    confidence: f64,
) -> Estimate {
    let alpha = (1.0 - confidence) / 2.0;
    let (value, samples) = (interpolated(sorted, share), sorted.len());
    let (dependence, draws) = effective_draws(sample, sorted, share);
    let (low, high) = ends(sorted, share, alpha, draws);
    let with_waits = value + sample.unmet_waits().of_percentile(sorted, share);
    let parts = KnownParts::of(sample);
    let low = low.map(|low| low - parts.margin);
    let found = (low, high.map(|high| high.max(with_waits) + parts.room + parts.margin));
    let needed = fewest_draws(share, alpha).max(fewest_draws(1.0 - share, alpha)) as f64;
    let fewest = fewest_clusters(share);
    let bounds = if sample.clusters() < fewest {
        let times = fewest as f64 / sample.clusters().max(1) as f64;
        let times = times.max(needed / draws);
        Bounds::TooShort { times, reason: Reason::FewRequests }
    } else if let Some((times, reason)) = too_short(&dependence, parts, needed) {
        let too_short = Bounds::TooShort { times, reason };
        let range = by_range(sample, sorted, share, needed, reason);
        let bounds = |(low, high): (f64, f64)| Bounds::Known { low, high: high.max(with_waits) };
        range.map_or(too_short, bounds)
    } else if let Some(times) = beyond_usual(sample, sorted, share) {
        Bounds::TooShort { times, reason: Reason::RareValues }
    } else {
        match found {
            (Some(low), Some(high)) => Bounds::Known { low, high },
            _ if dependence.is_dependent() => {
                Bounds::TooShort { times: needed / draws, reason: Reason::Correlated }
            }
            _ => Bounds::TooShort { times: needed / draws, reason: Reason::FewRequests },
        }
    };
    let at_least = found.0.unwrap_or(f64::NEG_INFINITY);
    let error = bounds
        .interval()
        .and_then(|(low, high)| Some((high - low) / 2.0 / normal_quantile(1.0 - alpha)?));
    Estimate { value, bounds, at_least, error, unseen: 0.0, samples, effective: draws }
}

/// Returns the least number of requests for a percentile: the number of which one lies beyond it on
/// average, and at least [`FEWEST_CLUSTERS`]. The number of values per request does not matter.
fn fewest_clusters(share: f64) -> usize {
    let tail = share.min(1.0 - share).max(f64::MIN_POSITIVE);
    FEWEST_CLUSTERS.max(whole(tail.recip().round()))
}

/// Returns the dependence that applies to a percentile, and the effective sample size for it.
///
/// Whether a value lies above the percentile is a series of its own, whose dependence may be
/// shorter or longer than that of the values. The longest of several is taken: that of the values,
/// of the values above the median, and of those above the percentile. Rare values are tested for
/// clustering.
fn effective_draws(sample: &Observations, sorted: &[f64], share: f64) -> (Dependence, f64) {
    let residuals = residuals(sample, sorted);
    let mut dependence = Dependence::of(&residuals);
    for part in sample.parts() {
        let share = moments(part).1 / moments(&residuals).1;
        dependence = dependence.with_part(&Dependence::of(part), share);
    }
    let limits = [share, 0.5].map(|share| nearest(sorted, share));
    let sizes = sample.by_cluster(|cluster| cluster.len() as f64);
    if dependence.is_dependent() {
        for limit in limits {
            let off = off_tail(&counts_above(sample, limit), &sizes);
            dependence = dependence.at_least(longest_length(&off));
        }
    }
    for times in [1.0, 2.0, 4.0] {
        let tail = (1.0 - share) * times;
        if tail < MOST_TAIL {
            let limit = nearest(sorted, 1.0 - tail);
            dependence = dependence.at_least(clustering(&have_above(sample, limit)));
        }
    }
    let design = design_effect(sample, &off_tail(&counts_above(sample, limits[0]), &sizes), share);
    (dependence, sorted.len() as f64 / design / dependence.length)
}

/// Returns the number of values above a limit in each cluster.
fn counts_above(sample: &Observations, limit: f64) -> Vec<f64> {
    sample.by_cluster(|cluster| cluster.iter().filter(|value| **value > limit).count() as f64)
}

/// Returns whether each cluster has a value above a limit.
fn have_above(sample: &Observations, limit: f64) -> Vec<bool> {
    counts_above(sample, limit).into_iter().map(|count| count > 0.0).collect()
}

/// Returns by how much the sum of each cluster exceeds that of as many mean values. Sums alone would show
/// how the sizes of clusters vary. Infinite values, which are those of failures, count as the largest finite
/// one.
fn residuals(sample: &Observations, sorted: &[f64]) -> Vec<f64> {
    let finite = sorted.partition_point(|value| value.is_finite());
    let largest = finite.checked_sub(1).map_or(0.0, |last| sorted[last]);
    let sum = |values: &[f64]| values.iter().map(|value| value.min(largest)).sum::<f64>();
    let mean = sum(sorted) / sorted.len() as f64;
    sample.by_cluster(|cluster| sum(cluster) - mean * cluster.len() as f64)
}

/// Returns by how many values above a limit each cluster has more than the share of all values above it
/// gives a cluster of its size.
fn off_tail(above: &[f64], sizes: &[f64]) -> Vec<f64> {
    let tail = above.iter().sum::<f64>() / sizes.iter().sum::<f64>();
    above.iter().zip(sizes).map(|(above, size)| above - tail * size).collect()
}

/// Returns how much more the number of values above a limit varies between clusters than if values
/// were independent of their cluster; 1 for clusters of one value. `off` is by how many each cluster has
/// more than its share.
fn design_effect(sample: &Observations, off: &[f64], share: f64) -> f64 {
    if sample.clusters() == sample.values().len() {
        return 1.0;
    }
    let scatter = off.iter().map(|off| off.powi(2)).sum::<f64>() / sample.clusters() as f64;
    let independent = share * (1.0 - share) * sample.mean_size();
    (scatter / independent).max(1.0)
}

/// Returns the values at the ends of the interval; an end that no rank reaches is absent.
///
/// A rank r of m draws stands for the part of the sample from (r - 1) / m to r / m. The lower end
/// is taken at the start of its part and the upper end at the end of its part, so that the sample's
/// own percentile lies between them.
fn ends(sorted: &[f64], share: f64, alpha: f64, draws: f64) -> (Option<f64>, Option<f64>) {
    let draws = whole(draws).max(1);
    let (low, high) = rank_bounds(draws as u64, share, alpha);
    let stretch = sorted.len() as f64 / draws as f64;
    let at = |place: usize| sorted.get(place.min(sorted.len().saturating_sub(1))).copied();
    let low = low.and_then(|rank| at(whole((rank - 1) as f64 * stretch)));
    let high = high.and_then(|rank| at(whole((rank as f64 * stretch).ceil()).saturating_sub(1)));
    (low, high)
}

/// Returns by how much a sample should be longer, and why, if its values depend on each other for too
/// long for a percentile that takes `needed` independent values.
fn too_short(dependence: &Dependence, parts: KnownParts, needed: f64) -> Option<(f64, Reason)> {
    let by_ranks = needed / dependence.effective();
    let by_length = dependence.too_short(FEWEST_EFFECTIVE);
    by_length.map(|(times, reason)| (times.max(by_ranks), reason)).or(parts.doubt)
}

/// Returns the ends of the interval by the range of values that hardly differ; absent for other values,
/// and for fewer than a percentile takes.
fn by_range(
    sample: &Observations,
    sorted: &[f64],
    share: f64,
    needed: f64,
    reason: Reason,
) -> Option<(f64, f64)> {
    let is_enough = sample.clusters() as f64 >= needed;
    let narrow = NarrowRange::of(sorted, nearest(sorted, 0.5)).filter(|_| is_enough)?;
    let ends = narrow.ends(reason)?;
    beyond_usual(sample, sorted, share).is_none().then_some(ends)
}

/// Returns the factor by which the sample should be longer, if the percentile is one of the usual values
/// and larger ones may exceed the share that the percentile leaves to them. An example are requests that
/// did not wait. Absent if that share is clearly small enough.
///
/// Larger values are rare then and come in bursts, and bursts come in busy phases, so their share
/// is known far less precisely than their number suggests.
fn beyond_usual(sample: &Observations, sorted: &[f64], share: f64) -> Option<f64> {
    if 1.0 - share > MOST_TAIL_OF_USUAL {
        return None;
    }
    let tie = largest_tie(sorted, share);
    let usual = || largest_usual(sample).filter(|limit| nearest(sorted, share) <= *limit);
    let limit = tie.or_else(usual)?;
    let burst = clustering(&have_above(sample, limit));
    // Usual values that differ have larger ones by chance, and the percentile rises before those of busy
    // phases fill its whole tail.
    let room = if tie.is_some() { 1.0 - share } else { (1.0 - share) / 2.0 };
    if tie.is_none() && burst <= 1.0 {
        return None;
    }
    let burst = burst.max(SMALLEST_BURST);
    let larger = sorted.len() - sorted.partition_point(|other| *other <= limit);
    let bursts = larger as f64 / burst;
    // Three standard errors of the number of bursts, and three for the case that none was seen.
    let most = (bursts + 3.0 * bursts.sqrt() + 3.0) * burst / sorted.len() as f64;
    (most > room).then_some((most / room).max(2.0))
}

/// Returns the largest of the values that are equal to a percentile; absent unless many are.
fn largest_tie(sorted: &[f64], share: f64) -> Option<f64> {
    let value = nearest(sorted, share);
    let alike = ALIKE * value.abs();
    let first = sorted.partition_point(|other| *other < value - alike);
    let ties = sorted.partition_point(|other| *other <= value + alike) - first;
    (ties as f64 >= MANY_TIES * sorted.len() as f64).then_some(value + alike)
}

/// Returns the value above which others are far from most of the values; absent for values without a
/// finite distance.
fn largest_usual(sample: &Observations) -> Option<f64> {
    let (median, distance) = median_and_distance(sample.values());
    let limit = median + (FAR * distance).max(NARROW * median.abs());
    limit.is_finite().then_some(limit)
}

/// Returns the percentile of sorted values, interpolated linearly between neighbours.
pub(crate) fn interpolated(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let rank = last as f64 * share;
    let (below, part) = (whole(rank), rank.fract());
    let (low, high) = (sorted[below.min(last)], sorted[(below + 1).min(last)]);
    // Interpolation between two infinite values would give NaN.
    if part == 0.0 || low.total_cmp(&high).is_eq() { low } else { low + (high - low) * part }
}

/// Returns the nearest-rank percentile: the smallest value that is not below a share of the sample.
fn nearest(sorted: &[f64], share: f64) -> f64 {
    let place = whole((sorted.len() as f64 * share).ceil()).saturating_sub(1);
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

/// Least number of requests. Fewer show nothing of their spread.
const FEWEST_CLUSTERS: usize = 20;
/// Least effective sample size of a dependent sample.
const FEWEST_EFFECTIVE: f64 = 60.0;
/// Relative difference below which values count as equal: less than clocks show.
const ALIKE: f64 = 1e-4;
/// Largest share above a percentile for which larger values are checked. If a percentile leaves more to
/// them, a busy phase that the sample missed does not reach it.
const MOST_TAIL_OF_USUAL: f64 = 0.11;
/// Distance from the median, in medians of all such distances, beyond which values are unusual, if it is a
/// part of the median that matters. It is more than three standard deviations of normal values.
const FAR: f64 = 5.0;
/// Share of all values from which on equal ones are no accident.
const MANY_TIES: f64 = 0.05;
/// Least size of a burst of larger values, for samples with hardly any of them.
const SMALLEST_BURST: f64 = 6.0;
/// Share of all values below which values count as rare.
const MOST_TAIL: f64 = 0.3;

#[cfg(test)]
mod tests {
    use servemark_rng::NumpyRandom;

    use super::*;
    use crate::UnmetWaits;

    #[test]
    fn a_tail_without_waits_leaves_room_for_waits_that_may_be_in_it() {
        let mut random = NumpyRandom::seeded(3);
        let values: Observations =
            (0..400).map(|_| 0.05 + 0.004 * random.random_sample()).collect();
        let p99 = |share: f64| {
            let waits = UnmetWaits { share, mean: 0.06 };
            let (low, high) = values
                .clone()
                .with_unmet_waits(waits)
                .percentile(0.99, 0.95)
                .bounds
                .interval()
                .unwrap();
            assert!(low < 0.054, "{low}");
            high
        };
        // Up to one in 200 may wait, fewer than the percentile leaves to larger values.
        assert!(p99(0.005) < 0.055);
        // Of 6 %, one in six waits for longer than the mean times the logarithm of six.
        assert!((p99(0.06) - 0.054 - 0.06 * 6f64.ln()).abs() < 1e-3, "{}", p99(0.06));
    }

    #[test]
    fn a_tail_of_equal_values_is_known_only_of_many_requests() {
        let p99 = |requests: usize, waits: usize| {
            let value = |at: usize| if at % 997 < waits { 1.0 } else { 0.05 };
            (0..requests).map(value).collect::<Observations>().percentile(0.99, 0.95)
        };
        // None of a thousand requests waited; a busy phase may have been missed.
        assert!(matches!(p99(1000, 0).bounds, Bounds::TooShort { reason: Reason::RareValues, .. }));
        assert_eq!(p99(5000, 0).bounds.interval(), Some((0.05, 0.05)));
        // Half of the requests waited, so the equal values are far below.
        let half = p99(1000, 500).bounds;
        assert!(half.interval().is_none_or(|(_, high)| high >= 1.0), "{half:?}");
        // The median is among the equal values, whatever the rare ones do.
        let median = (0..400).map(|_| 0.05).collect::<Observations>().percentile(0.5, 0.95);
        assert_eq!(median.bounds.interval(), Some((0.05, 0.05)));
    }

    /// A batch gives the gaps of all requests in it the same value, and requests have 2 to 40 gaps.
    #[test]
    fn gaps_that_requests_share_are_not_hidden_by_the_lengths_of_answers() {
        let mut random = NumpyRandom::seeded(5);
        let mut run = || {
            let (mut sample, mut gap) = (Observations::default(), 0.0);
            for _ in 0..400 {
                gap = 0.97 * gap + random.normal(0.0, 0.25);
                let count = 2 + random.randint(0, 39).unwrap();
                sample.push((0..count).map(|_| 30.0 + gap));
            }
            sample.percentile(0.5, 0.95).bounds.interval()
        };
        let misses = (0..40)
            .filter_map(|_| run())
            .filter(|(low, high)| !(*low..=*high).contains(&30.0))
            .count();
        assert!(misses <= 3, "{misses}");
    }

    /// Values differ by noise, and three bursts of waits are beyond it.
    #[test]
    fn a_tail_of_noise_with_a_few_bursts_is_too_short() {
        let mut random = NumpyRandom::seeded(8);
        let mut p90 = |bursts: usize| {
            let waits = |at: usize| if at % 300 < 10 && at / 300 < bursts { 0.1 } else { 0.0 };
            let values = (0..1000).map(|at| 0.08 + random.normal(0.0, 0.008) + waits(at));
            values.collect::<Observations>().percentile(0.9, 0.95).bounds
        };
        assert!(p90(0).interval().is_some());
        assert!(matches!(p90(3), Bounds::TooShort { reason: Reason::RareValues, .. }));
    }

    #[test]
    fn a_percentile_below_the_waits_is_one_of_a_larger_share() {
        let values: Vec<f64> = (0..=1000).map(f64::from).collect();
        let waits = |share: f64, mean: f64| UnmetWaits { share, mean };
        // If one in ten waits, the 81st percentile is the 90th of the others.
        assert!((waits(0.1, 500.0).of_percentile(&values, 0.81) - 90.0).abs() < 1e-6);
        // It is no further away than the waits are long.
        assert!((waits(0.1, 20.0).of_percentile(&values, 0.81) - 20.0).abs() < 1e-6);
        // Of one half that waits, nine in ten wait for less than the mean times ln 5 at p90.
        let found = waits(0.5, 1.0).of_percentile(&values, 0.9);
        assert!((found - 1.0 - 5f64.ln()).abs() < 1e-6, "{found}");
    }

    #[test]
    fn a_percentile_counts_requests_and_not_their_values() {
        let mut random = NumpyRandom::seeded(6);
        let mut run = |requests: usize| {
            let mut sample = Observations::default();
            for _ in 0..requests {
                sample.push((0..99).map(|_| random.normal(30.0, 1.0)));
            }
            sample.percentile(0.999, 0.95).bounds
        };
        assert!(matches!(run(500), Bounds::TooShort { reason: Reason::FewRequests, .. }));
        assert!(run(1000).interval().is_some());
    }
}
