//! Measures the dependence of values that follow each other in time.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::spectrum::{LowFrequencies, reduced};
use crate::{Reason, moments};

/// Dependence of the values of a series on earlier ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dependence {
    /// Number of values that carry the information of one independent value; 1 if the series does
    /// not contradict independence.
    pub(crate) length: f64,
    /// Whether the values rise or fall from one end of the series to the other.
    pub(crate) has_trend: bool,
    /// Whether values are alike for a large part of the series.
    is_slow: bool,
    values: usize,
}

impl Dependence {
    /// Measures the dependence of a series. Independence is the null hypothesis, so independent
    /// draws keep the textbook's intervals.
    pub(crate) fn of(series: &[f64]) -> Self {
        let values = series.len();
        let independent = Self { length: 1.0, has_trend: false, is_slow: false, values };
        if values < FEWEST {
            return independent;
        }
        let (ranks, slow) = (ranks(series), LowFrequencies::of(series));
        if look_independent(&ranks) && slow.look_independent(FALSE_ALARMS_OF_VALUES) {
            return independent;
        }
        let length = longest_length(series).max(1.0);
        let has_trend = has_trend(&ranks, length);
        Self { length, has_trend, is_slow: slow.are_lowest(), values }
    }

    /// Raises `length` to at least the given one.
    #[must_use]
    pub(crate) fn at_least(self, length: f64) -> Self {
        Self { length: self.length.max(length), ..self }
    }

    /// Adds the dependence of a known part of the values. `share` is the variance of the part divided by
    /// that of the values.
    ///
    /// The variance of the part's mean is a part of that of the values' mean, however much of the
    /// values' own variance is independent noise.
    #[must_use]
    pub(crate) fn with_part(self, of_part: &Self, share: f64) -> Self {
        let excess = (of_part.length - 1.0) * share;
        if !excess.is_finite() || excess < LEAST_EXCESS {
            return self;
        }
        Self {
            length: self.length.max(1.0 + excess),
            has_trend: self.has_trend || of_part.has_trend,
            is_slow: self.is_slow || of_part.is_slow,
            ..self
        }
    }

    /// Returns the effective sample size: the number of independent values that carry as much
    /// information.
    pub(crate) fn effective(&self) -> f64 {
        self.values as f64 / self.length
    }

    /// Returns whether a dependence was found.
    pub(crate) fn is_dependent(&self) -> bool {
        self.length > 1.0
    }

    /// Returns the factor by which the series should be longer for an interval that needs `fewest`
    /// independent values, and why; absent if it is long enough.
    pub(crate) fn too_short(&self, fewest: f64) -> Option<(f64, Reason)> {
        let is_too_long = self.is_slow || self.is_dependent() && self.effective() < fewest;
        let reason = if self.has_trend { Reason::Trend } else { Reason::Correlated };
        is_too_long.then_some(((fewest / self.effective()).max(LEAST_FACTOR), reason))
    }
}

/// Tests ranks for independence: von Neumann's ratio (Bartels 1982) of the values and of the means
/// of 2, 4, 8, … consecutive ones, and the low frequencies. Only similarity of values that are near
/// each other counts against independence.
fn look_independent(ranks: &[f64]) -> bool {
    let mut levels = vec![ranks.to_vec()];
    while levels.len() < SCALES && levels[levels.len() - 1].len() >= 2 * FEWEST {
        levels.push(reduced(&levels[levels.len() - 1], 2));
    }
    let each = FALSE_ALARMS / levels.len() as f64;
    let limit = Normal::standard().inverse_cdf(each);
    levels.iter().all(|level| von_neumann(level) > limit)
        && LowFrequencies::of(ranks).look_independent(FALSE_ALARMS_OF_RANKS)
}

/// Returns von Neumann's ratio of a series as a standard normal number; negative if neighbours are
/// similar.
fn von_neumann(series: &[f64]) -> f64 {
    let count = series.len() as f64;
    let mean = series.iter().sum::<f64>() / count;
    let scatter: f64 = series.iter().map(|value| (value - mean).powi(2)).sum();
    if scatter <= 0.0 {
        return 0.0;
    }
    let steps: f64 = series.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    // The ratio of independent ranks has the mean 2 and this variance (Bartels 1982, section 2).
    let variance = 4.0 * (count - 2.0) * (5.0 * count * count - 2.0 * count - 9.0)
        / (5.0 * count * (count + 1.0) * (count - 1.0).powi(2));
    (steps / scatter - 2.0) / variance.sqrt()
}

/// Returns whether ranks correlate with time (Spearman) beyond what the dependence itself explains.
fn has_trend(ranks: &[f64], length: f64) -> bool {
    let (mean, variance) = moments(ranks);
    let count = ranks.len() as f64;
    let middle = (count - 1.0) / 2.0;
    let products: f64 =
        ranks.iter().enumerate().map(|(at, rank)| (at as f64 - middle) * (rank - mean)).sum();
    let time_variance = count * (count + 1.0) / 12.0;
    let correlation = products / ((count - 1.0) * (variance * time_variance).sqrt());
    correlation.abs() > MOST_OF_IT || correlation.abs() * (count / length).sqrt() > TREND
}

/// Returns the zero-based ranks of the values; equal values share their mean rank.
pub(crate) fn ranks(series: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..series.len()).collect();
    order.sort_unstable_by(|a, b| series[*a].total_cmp(&series[*b]));
    let mut ranks = vec![0.0; series.len()];
    let mut first = 0;
    for alike in order.chunk_by(|a, b| series[*a].total_cmp(&series[*b]).is_eq()) {
        let rank = first as f64 + (alike.len() as f64 - 1.0) / 2.0;
        for place in alike {
            ranks[*place] = rank;
        }
        first += alike.len();
    }
    ranks
}

/// Returns the integrated autocorrelation length of a series by Geyer's initial monotone sequence
/// (1992): the variance of its mean divided by that of the mean of equally many independent values.
/// Long series are reduced to means of consecutive values.
pub(crate) fn integrated_length(series: &[f64]) -> f64 {
    length_of_means(series, series.len().div_ceil(MOST_POINTS))
}

/// Returns the longest of several measures of the integrated autocorrelation length: by the low
/// frequencies, and by Geyer's sequence for the values and for means of 4 and 16 of them. Noise that is
/// independent from value to value ends the sequence of the values too early.
pub(crate) fn longest_length(series: &[f64]) -> f64 {
    let size = series.len().div_ceil(MOST_POINTS);
    let sizes = [size, 4 * size, 16 * size].into_iter();
    let usable = sizes.filter(|size| series.len() / (*size).max(1) >= FEWEST_MEANS);
    let lengths = usable.map(|size| length_of_means(series, size));
    lengths.fold(LowFrequencies::of(series).length(), f64::max)
}

/// Returns the integrated autocorrelation length, in values, from the means of `size` consecutive ones.
fn length_of_means(series: &[f64], size: usize) -> f64 {
    let (_, variance) = moments(series);
    if variance <= 0.0 {
        return 1.0;
    }
    long_run_variance(&reduced(series, size)) * size as f64 / variance
}

/// Returns the variance of the mean of a series times its length.
fn long_run_variance(points: &[f64]) -> f64 {
    let (mean, variance) = moments(points);
    let off: Vec<f64> = points.iter().map(|point| point - mean).collect();
    let covariance = |lag: usize| sum_of_products(&off, &off[lag..]) / off.len() as f64;
    let (mut sum, mut least, mut lag) = (0.0, f64::INFINITY, 0);
    while lag + 1 < off.len() / 2 {
        let pair = covariance(lag) + covariance(lag + 1);
        if pair <= 0.0 {
            break;
        }
        least = pair.min(least);
        sum += least;
        lag += 2;
    }
    let long_run = (2.0 * sum - covariance(0)).max(variance * LEAST_SHARE);
    // Deviations are from the sample's own mean, which hides a part of every covariance.
    let hidden = (2.0 * lag as f64 / off.len() as f64).min(0.5);
    long_run / (1.0 - hidden)
}

/// Returns the sum of the products of two series, as far as the shorter one goes. Several independent
/// sums are added at a time, which is several times faster than one after the other.
fn sum_of_products(one: &[f64], other: &[f64]) -> f64 {
    let (one, other) = (&one[..one.len().min(other.len())], other);
    let (ones, others) = (one.chunks_exact(LANES), other.chunks_exact(LANES));
    let rest: f64 =
        ones.remainder().iter().zip(&other[one.len() / LANES * LANES..]).map(product).sum();
    let mut sums = [0.0; LANES];
    for (ones, others) in ones.zip(others) {
        for ((sum, one), other) in sums.iter_mut().zip(ones).zip(others) {
            *sum += one * other;
        }
    }
    sums.iter().sum::<f64>() + rest
}

fn product((one, other): (&f64, &f64)) -> f64 {
    one * other
}

/// Least factor by which a series that is too short should be longer. If values are alike for a
/// large part of the series, its effective sample size does not show the factor.
const LEAST_FACTOR: f64 = 2.0;
/// Number of sums that are added at a time.
const LANES: usize = 8;
/// Least part of the variance of independent values that the dependence of parts must add. Less does
/// not change an interval noticeably.
const LEAST_EXCESS: f64 = 0.25;
/// Least number of values for von Neumann's ratio test.
const FEWEST: usize = 16;
/// Number of scales of the test: the values and means of 2, 4, 8, 16 and 32 of them.
const SCALES: usize = 6;
/// Share of independent samples that von Neumann's ratios take for dependent.
const FALSE_ALARMS: f64 = 0.005;
/// Chance of independent ranks below which the sum of low frequencies shows dependence. Five sums
/// that overlap are tested, so about 0.5 % of independent samples are taken for dependent.
const FALSE_ALARMS_OF_RANKS: f64 = 0.001;
/// Chance of independent values below which the sum of low frequencies shows dependence. Values far
/// from all others make large sums, so it is smaller than that of ranks.
const FALSE_ALARMS_OF_VALUES: f64 = 0.0005;
/// Number of standard errors beyond which a rank correlation with time is a trend.
const TREND: f64 = 3.0;
/// Rank correlation with time beyond which a trend explains half of the variance.
const MOST_OF_IT: f64 = 0.7;
/// Least number of means for a sequence of autocovariances.
const FEWEST_MEANS: usize = 8;
/// Largest number of points for autocovariances. More points take too long and show nothing more.
const MOST_POINTS: usize = 4096;
/// Least long-run variance, as a share of the variance. It limits how much an alternating series
/// counts.
const LEAST_SHARE: f64 = 0.05;

#[cfg(test)]
mod tests {
    use servemark_rng::NumpyRandom;

    use super::*;

    fn autoregression(likeness: f64, count: usize, seed: u32) -> Vec<f64> {
        let mut random = NumpyRandom::seeded(seed);
        let mut value = random.normal(0.0, 1.0);
        let step = (1.0 - likeness * likeness).sqrt();
        (0..count)
            .map(|_| {
                value = likeness * value + step * random.normal(0.0, 1.0);
                value
            })
            .collect()
    }

    #[test]
    fn equal_values_share_their_mean_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 0.0, 3.0]), [3.0, 1.0, 3.0, 0.0, 3.0]);
        assert_eq!(ranks(&[1.0, 1.0]), [0.5, 0.5]);
    }

    #[test]
    fn independent_values_are_rarely_taken_for_dependent() {
        let alarms = (0..400)
            .filter(|seed| Dependence::of(&autoregression(0.0, 400, *seed)).is_dependent())
            .count();
        assert!(alarms <= 16, "{alarms} of 400");
    }

    #[test]
    fn the_length_of_an_autoregression_is_not_underestimated() {
        // The expected length is (1 + r) / (1 - r). The largest of several measures is above it.
        for (likeness, length) in [(0.5, 3.0), (0.9, 19.0), (0.98, 99.0)] {
            let lengths =
                (0..20).map(|seed| Dependence::of(&autoregression(likeness, 20_000, seed)).length);
            let mean = lengths.sum::<f64>() / 20.0;
            assert!((1.0..1.6).contains(&(mean / length)), "{likeness}: {mean}");
        }
    }

    /// The slow part has a third of the variance, and is alike for about 50 values.
    #[test]
    fn a_slow_dependence_under_noise_is_found_and_measured() {
        let noisy = |seed| {
            let slow = autoregression(0.98, 2000, seed);
            let fast = autoregression(0.0, 2000, seed + 500);
            let sum = slow.iter().zip(&fast).map(|(slow, fast)| slow + 1.4 * fast);
            Dependence::of(&sum.collect::<Vec<f64>>())
        };
        let found: Vec<Dependence> = (0..60).map(noisy).collect();
        assert!(found.iter().all(Dependence::is_dependent));
        // (99 + 2) / 3 values carry the information of one.
        let mut lengths: Vec<f64> = found.iter().map(|found| found.length).collect();
        lengths.sort_unstable_by(f64::total_cmp);
        assert!((20.0..60.0).contains(&lengths[30]), "{lengths:?}");
    }

    #[test]
    fn a_rise_over_the_whole_series_is_a_trend() {
        let rising: Vec<f64> = autoregression(0.0, 400, 1)
            .iter()
            .zip(0..)
            .map(|(x, at)| x + f64::from(at) / 50.0)
            .collect();
        let found = Dependence::of(&rising);
        assert_eq!(found.too_short(100.0).map(|(_, reason)| reason), Some(Reason::Trend));
        // By its effective number alone the series would be long enough.
        assert_eq!(found.too_short(0.1), Some((LEAST_FACTOR, Reason::Trend)));
    }
}
