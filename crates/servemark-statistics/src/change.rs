//! The relative change from one number to another, with its confidence interval.
//!
//! A change is an interval of the logarithm of the ratio of after to before, so that the two can be
//! exchanged.

use statrs::distribution::{Discrete, Hypergeometric};

use crate::student::quantile;
use crate::{Bounds, Observations, moments};

/// A number with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueInterval {
    /// The number.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Returns the confidence interval of the log ratio of two numbers, each with a confidence
/// interval, from samples that are independent of each other (the method of variance estimates
/// recovery, Zou and Donner 2008). The result has the confidence of the two intervals. Absent if a
/// number is not above zero.
///
/// ```
/// use servemark_statistics::{ValueInterval, change_of_two};
///
/// let before = ValueInterval { value: 100.0, low: 97.0, high: 103.0 };
/// let after = ValueInterval { value: 110.0, low: 106.0, high: 114.0 };
/// let (low, high) = change_of_two(before, after).unwrap();
/// assert!(0.04 < low && low < 1.1_f64.ln() && 1.1_f64.ln() < high && high < 0.15);
/// ```
pub fn change_of_two(before: ValueInterval, after: ValueInterval) -> Option<(f64, f64)> {
    if before.value <= 0.0 || after.value <= 0.0 {
        return None;
    }
    let change = (after.value / before.value).ln();
    // On this scale an end at or below zero is infinitely far away.
    let distance = |one: f64, other: f64| (one.max(0.0) / other.max(0.0)).ln();
    let below = distance(after.value, after.low).hypot(distance(before.high, before.value));
    let above = distance(after.high, after.value).hypot(distance(before.value, before.low));
    Some((change - below, change + above))
}

/// Returns the confidence interval of the log ratio of the means of two groups of independent
/// values, such as the figures of whole runs (Welch 1947, on relative deviations). A group of one
/// value takes the relative variance of the other group. Absent if both groups have one value, or
/// if a group is empty or its mean is not above zero.
pub fn change_of_groups(before: &[f64], after: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let groups = [before, after].map(Group::of);
    if groups.iter().any(|group| group.mean <= 0.0 || group.count < 1.0) {
        return None;
    }
    let own = groups.each_ref().map(|group| group.share(group));
    let (variance, degrees) = match groups.each_ref().map(|group| group.count > 1.0) {
        [true, true] => (own[0].variance + own[1].variance, degrees(&own)),
        [true, false] => (own[0].variance + groups[1].share(&groups[0]).variance, own[0].degrees),
        [false, true] => (groups[0].share(&groups[1]).variance + own[1].variance, own[1].degrees),
        [false, false] => return None,
    };
    let half = variance.sqrt() * quantile(1.0 - (1.0 - confidence) / 2.0, degrees)?;
    let change = (groups[1].mean / groups[0].mean).ln();
    Some((change - half, change + half))
}

/// Returns the confidence interval of the log ratio of runs that come in pairs, each pair with a
/// workload of its own: Student's interval on the log ratios of the pairs. Absent for fewer than
/// two pairs, for groups of different sizes, and for values that are not above zero.
pub fn change_of_pairs(before: &[f64], after: &[f64], confidence: f64) -> Option<(f64, f64)> {
    if before.len() != after.len() || before.iter().chain(after).any(|value| *value <= 0.0) {
        return None;
    }
    let ratios: Vec<f64> =
        before.iter().zip(after).map(|(before, after)| (after / before).ln()).collect();
    crate::independent_mean(&ratios, confidence)
}

/// Sum and number of the values of one request.
pub type SumAndCount = (f64, f64);

/// Returns the confidence interval of the log ratio of two means, where each request of one sample
/// has its counterpart in the other, in the order of time. Variation that both samples have in
/// common cancels out. Absent if the samples are too short or differ in their number of requests.
pub fn change_of_paired_means(
    before: &[SumAndCount],
    after: &[SumAndCount],
    confidence: f64,
) -> Option<(f64, f64)> {
    if before.len() != after.len() {
        return None;
    }
    let [before, after] = [before, after].map(Deviations::of);
    let (before, after) = (before?, after?);
    let change = (after.mean / before.mean).ln();
    let pairs = after.relative.iter().zip(&before.relative);
    let differences: Observations = pairs.map(|(after, before)| after - before).collect();
    match differences.mean(confidence).bounds {
        Bounds::Known { low, high } => Some((change + low, change + high)),
        Bounds::TooShort { .. } => None,
    }
}

/// Returns the probability that chance alone distributes the hits of two groups at least as
/// unevenly as observed, if both groups have the same underlying share of them (Fisher's exact
/// test, two-sided). Each group is its number of hits and its size.
///
/// ```
/// use servemark_statistics::chance_of_shares;
///
/// assert!((chance_of_shares((1, 10), (8, 10)) - 0.0055).abs() < 1e-4);
/// assert_eq!(chance_of_shares((0, 50), (0, 70)), 1.0);
/// ```
pub fn chance_of_shares(before: (u64, u64), after: (u64, u64)) -> f64 {
    let (hits, all) = (before.0 + after.0, before.1 + after.1);
    let Ok(shares) = Hypergeometric::new(all, hits, after.1) else { return 1.0 };
    let observed = shares.pmf(after.0);
    let smallest = hits.saturating_sub(before.1);
    let tables = (smallest..=hits.min(after.1)).map(|hits| shares.pmf(hits));
    tables.filter(|chance| *chance <= observed * (1.0 + ROUNDING)).sum::<f64>().min(1.0)
}

/// Relative rounding error between the probabilities of tables that are equally uneven.
const ROUNDING: f64 = 1e-7;

/// Mean and relative variance of a group of runs.
#[derive(Clone, Copy, Debug)]
struct Group {
    mean: f64,
    relative_variance: f64,
    count: f64,
}

/// Contribution of a group to the variance of a change.
#[derive(Clone, Copy, Debug)]
struct Share {
    variance: f64,
    degrees: f64,
}

impl Group {
    fn of(values: &[f64]) -> Self {
        let (mean, variance) = moments(values);
        Self { mean, relative_variance: variance / (mean * mean), count: values.len() as f64 }
    }

    /// Returns the group's contribution, if its values vary as those of `spread` do.
    fn share(&self, spread: &Self) -> Share {
        Share {
            variance: spread.relative_variance / self.count,
            degrees: (spread.count - 1.0).max(1.0),
        }
    }
}

/// Returns the degrees of freedom of a sum of variances (Satterthwaite 1946).
fn degrees(shares: &[Share; 2]) -> f64 {
    let all = (shares[0].variance + shares[1].variance).powi(2);
    let each = shares.iter().map(|share| share.variance.powi(2) / share.degrees);
    let each: f64 = each.sum();
    if each > 0.0 { all / each } else { shares[0].degrees + shares[1].degrees }
}

/// Contribution of each request to the relative error of a mean.
#[derive(Debug)]
struct Deviations {
    mean: f64,
    relative: Vec<f64>,
}

impl Deviations {
    fn of(requests: &[SumAndCount]) -> Option<Self> {
        let (sum, count) = requests
            .iter()
            .fold((0.0, 0.0), |(sums, counts), (sum, count)| (sums + sum, counts + count));
        let (mean, size) = (sum / count, count / requests.len() as f64);
        let relative = |(sum, count): &SumAndCount| (sum - mean * count) / (size * mean);
        (mean > 0.0 && mean.is_finite())
            .then(|| Self { mean, relative: requests.iter().map(relative).collect() })
    }
}

#[cfg(test)]
mod tests {
    use servemark_rng::Pcg64;

    use super::*;

    #[test]
    fn groups_are_compared_as_welch_does() {
        // By the textbook: means 10 and 11, standard errors 1/sqrt(3) and 1/sqrt(3), four degrees.
        let (low, high) = change_of_groups(&[9.0, 10.0, 11.0], &[10.0, 11.0, 12.0], 0.95).unwrap();
        let error = (1.0 / 300.0 + 1.0 / 363.0_f64).sqrt();
        assert!(((high - low) / 2.0 - 2.778 * error).abs() < 0.01 * error, "{low} {high}");
        assert!((f64::midpoint(low, high) - 1.1_f64.ln()).abs() < 1e-12);
        assert_eq!(change_of_groups(&[1.0], &[2.0], 0.95), None);
        assert_eq!(change_of_groups(&[0.0, 0.0], &[2.0, 2.0], 0.95), None);
    }

    #[test]
    fn one_run_against_several_takes_their_spread() {
        let several = [9.0, 10.0, 11.0];
        let (low, high) = change_of_groups(&several, &[10.0], 0.95).unwrap();
        let expected = 4.302_65 * 0.1 * (1.0_f64 / 3.0 + 1.0).sqrt();
        assert!((high - expected).abs() < 1e-4 && (low + expected).abs() < 1e-4, "{low} {high}");
    }

    #[test]
    fn pairs_cancel_what_their_workloads_differ_in() {
        let before = [10.0, 20.0, 40.0];
        let after = [11.0, 22.2, 43.8];
        let (low, high) = change_of_pairs(&before, &after, 0.99).unwrap();
        assert!(low > 0.0 && high < 0.2, "{low} {high}");
        let (low, high) = change_of_groups(&before, &after, 0.99).unwrap();
        assert!(low < 0.0 && high > 0.0);
    }

    #[test]
    fn requests_in_pairs_cancel_what_they_have_in_common() {
        let mut random = Pcg64::seeded(3);
        let lengths: Vec<f64> = (0..400).map(|_| 1.0 + 9.0 * random.random()).collect();
        let mut run = |factor: f64| -> Vec<SumAndCount> {
            let value = |length: &f64| (factor * length * (0.99 + 0.02 * random.random()), 1.0);
            lengths.iter().map(value).collect()
        };
        let (before, after) = (run(1.0), run(1.01));
        let (low, high) = change_of_paired_means(&before, &after, 0.99).unwrap();
        assert!(0.005 < low && high < 0.015, "{low} {high}");
        assert_eq!(change_of_paired_means(&before, &after[1..], 0.99), None);
    }

    #[test]
    fn an_end_below_zero_leaves_the_change_open() {
        let wide = ValueInterval { value: 1.0, low: -1.0, high: 3.0 };
        let near = ValueInterval { value: 1.0, low: 0.9, high: 1.1 };
        let (low, _) = change_of_two(near, wide).unwrap();
        let (_, high) = change_of_two(wide, near).unwrap();
        assert!(low.is_infinite() && low < 0.0 && high.is_infinite() && high > 0.0);
    }

    #[test]
    fn shares_are_tested_as_fisher_did() {
        // The lady tasting tea: three of four against one of four, 0.4857 on both sides.
        assert!((chance_of_shares((1, 4), (3, 4)) - 0.485_714).abs() < 1e-5);
        assert!((chance_of_shares((0, 4), (4, 4)) - 2.0 / 70.0).abs() < 1e-9);
        assert!((chance_of_shares((0, 0), (0, 0)) - 1.0).abs() < 1e-12);
    }
}
