//! Percentiles: of correlated and clustered values.

use crate::clustering::clustering;
use crate::dependence::{Dependence, integrated_length};
use crate::ranks::{fewest_draws, rank_bounds, whole};
use crate::student::normal_quantile;
use crate::{Bounds, Estimate, Reason, Sample};

/// A percentile of a sample and where that of the process lies, by ranks of the effective number of
/// independent values.
pub(crate) fn percentile(sample: &Sample, sorted: &[f64], share: f64, confidence: f64) -> Estimate {
    let alpha = (1.0 - confidence) / 2.0;
    let (value, samples) = (interpolated(sorted, share), sorted.len());
    let (dependence, draws) = worth(sample, sorted, share);
    let found = ends(sorted, share, alpha, draws);
    let needed = fewest_draws(share, alpha).max(fewest_draws(1.0 - share, alpha)) as f64;
    let bounds = if sample.clusters() < FEWEST_CLUSTERS {
        let times = FEWEST_CLUSTERS as f64 / sample.clusters().max(1) as f64;
        Bounds::TooShort { times, reason: Reason::FewRequests }
    } else if let Some(reason) = dependence.is_too_short(FEWEST_EFFECTIVE) {
        let times = FEWEST_EFFECTIVE.max(needed) / dependence.effective();
        Bounds::TooShort { times, reason }
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
        .known()
        .and_then(|(low, high)| Some((high - low) / 2.0 / normal_quantile(1.0 - alpha)?));
    Estimate { value, bounds, at_least, error, samples, effective: draws }
}

/// The dependence of what decides a percentile, and the number of independent values that the sample
/// is worth for it.
///
/// Whether a value lies above the percentile is a series of its own; its dependence may be shorter
/// than that of the values, or longer. The longest of several is taken: that of the values, of the
/// values above the median, and of those above the percentile. Rare values are held against chance
/// by how they cluster.
fn worth(sample: &Sample, sorted: &[f64], share: f64) -> (Dependence, f64) {
    let above = |limit: f64| {
        sample.by_cluster(|cluster| cluster.iter().filter(|value| **value > limit).count() as f64)
    };
    let totals =
        sample.by_cluster(|cluster| cluster.iter().filter(|value| value.is_finite()).sum());
    let mut dependence = Dependence::of(&totals);
    let limits = [share, 0.5].map(|share| nearest(sorted, share));
    if dependence.is_dependent() {
        for limit in limits {
            dependence = dependence.at_least(integrated_length(&above(limit)));
        }
    }
    for times in [1.0, 2.0, 4.0] {
        let tail = (1.0 - share) * times;
        if tail < MOST_TAIL {
            let counts = above(nearest(sorted, 1.0 - tail));
            let hits: Vec<bool> = counts.iter().map(|count| *count > 0.0).collect();
            dependence = dependence.at_least(clustering(&hits));
        }
    }
    let design = design_effect(sample, &above(limits[0]), share);
    (dependence, sorted.len() as f64 / design / dependence.length)
}

/// How much more the share of values above a limit varies between clusters than if values were
/// independent of their cluster; 1 for clusters of one value.
fn design_effect(sample: &Sample, above: &[f64], share: f64) -> f64 {
    if sample.clusters() == sample.values().len() {
        return 1.0;
    }
    let sizes = sample.by_cluster(|cluster| cluster.len() as f64);
    let tail = above.iter().sum::<f64>() / sizes.iter().sum::<f64>();
    let residuals = above.iter().zip(&sizes).map(|(hits, size)| (hits - tail * size).powi(2));
    let scatter = residuals.sum::<f64>() / sample.clusters() as f64;
    let independent = share * (1.0 - share) * sample.mean_size();
    (scatter / independent).max(1.0)
}

/// The values at the ends of the interval; an end that no rank reaches is absent.
///
/// A rank r of m draws stands for the part of the sample from (r - 1) / m to r / m. The lower end is
/// taken at the start of its part and the upper end at the end of its, so that the sample's own
/// percentile lies between them.
fn ends(sorted: &[f64], share: f64, alpha: f64, draws: f64) -> (Option<f64>, Option<f64>) {
    let draws = whole(draws).max(1);
    let (low, high) = rank_bounds(draws as u64, share, alpha);
    let stretch = sorted.len() as f64 / draws as f64;
    let at = |place: usize| sorted.get(place.min(sorted.len().saturating_sub(1))).copied();
    let low = low.and_then(|rank| at(whole((rank - 1) as f64 * stretch)));
    let high = high.and_then(|rank| at(whole((rank as f64 * stretch).ceil()).saturating_sub(1)));
    (low, high)
}

/// The percentile of sorted values, linear between neighbours.
fn interpolated(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let rank = last as f64 * share;
    let (below, part) = (whole(rank), rank.fract());
    let (low, high) = (sorted[below.min(last)], sorted[(below + 1).min(last)]);
    // Between two infinite values there is no difference to take a part of.
    if part == 0.0 || low.total_cmp(&high).is_eq() { low } else { low + (high - low) * part }
}

/// The smallest value that a share of the sample does not exceed.
fn nearest(sorted: &[f64], share: f64) -> f64 {
    let place = whole((sorted.len() as f64 * share).ceil()).saturating_sub(1);
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

/// Fewer requests than this show nothing of their spread.
const FEWEST_CLUSTERS: usize = 20;
/// Independent values that a dependent sample must be worth.
const FEWEST_EFFECTIVE: f64 = 40.0;
/// Values are rare where they are less than this share of all.
const MOST_TAIL: f64 = 0.3;
