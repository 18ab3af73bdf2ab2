//! Summary of one sample of latencies.

use serde::Serialize;

use crate::policy::{MetricPolicy, SampleSize};
use crate::statistics::{self, Moments, by_rank, order};
use crate::{BeyondBudget, Estimates, Histogram};

/// Summary of one sample of latencies, in milliseconds. Values that cannot be known are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Number of values.
    pub samples: usize,
    /// Mean of the values.
    pub mean_ms: Option<f64>,
    /// Mean and percentiles with their confidence intervals; absent unless the policy asks for them
    /// and the sample is small enough to be stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimates: Option<Estimates>,
    /// Median of the values.
    pub median_ms: Option<f64>,
    /// Population standard deviation.
    pub std_ms: Option<f64>,
    /// Smallest value.
    pub min_ms: Option<f64>,
    /// Largest value.
    pub max_ms: Option<f64>,
    /// Percentiles that the policy asks for.
    pub percentiles: Vec<Percentile>,
    /// Source of the percentiles and of the median.
    #[serde(skip_serializing_if = "PercentileSource::is_sample")]
    pub percentiles_of: PercentileSource,
}

/// Source of percentiles. The enum is closed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PercentileSource {
    /// The sample itself: percentiles are exact.
    #[default]
    Sample,
    /// A [`Histogram`] of the sample: percentiles may be off by 0.05 %.
    Histogram,
}

impl PercentileSource {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields by reference")]
    fn is_sample(&self) -> bool {
        *self == Self::Sample
    }
}

/// One percentile, or the reason why there is none. The enum is closed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Percentile {
    /// The sample resolves the percentile.
    Known {
        /// Rank in percent.
        percent: f64,
        /// Value in milliseconds.
        value_ms: f64,
    },
    /// The sample is too small for the percentile.
    TooFew {
        /// Rank in percent.
        percent: f64,
        /// Number of further requests with values that the percentile needs.
        missing_samples: usize,
    },
}

impl Summary {
    /// Summarises a sample of seconds, in the order of measurement, as the policy asks.
    pub fn of(sample_s: &[f64], policy: &MetricPolicy) -> Self {
        Self::of_values(|| sample_s.iter().copied(), sample_s.len(), policy)
    }

    /// Summarises the values of several requests. `values_s` computes the values anew for each
    /// pass.
    pub(crate) fn of_values<I: Iterator<Item = f64>>(
        values_s: impl Fn() -> I,
        requests: usize,
        policy: &MetricPolicy,
    ) -> Self {
        let summary = Self::of_any(values_s, policy);
        let percentiles = summary.percentiles.iter();
        let percentiles = percentiles.map(|known| known.of_requests(requests, policy)).collect();
        Self { percentiles, ..summary }
    }

    /// Summarises a sample, with all percentiles whatever the number of requests.
    fn of_any<I: Iterator<Item = f64>>(values_s: impl Fn() -> I, policy: &MetricPolicy) -> Self {
        let most = policy.sample_budget.values();
        let kept: Vec<f64> = values_s().take(most + 1).collect();
        if kept.len() <= most {
            return Self::of_kept(kept, policy);
        }
        drop(kept);
        match policy.sample_budget.beyond {
            BeyondBudget::Exact => Self::of_walks(values_s, policy),
            BeyondBudget::Histogram => Self::of_histogram(values_s, policy),
        }
    }

    fn of_kept(mut kept: Vec<f64>, policy: &MetricPolicy) -> Self {
        let moments = Moments::of(kept.len(), || kept.iter().copied());
        let ranks = ranks(kept.len(), policy);
        let ranked = order::select(&mut kept, &ranks);
        Self::read(kept.len(), policy, |rank| ranked.at(rank)).with_moments(moments)
    }

    fn of_walks<I: Iterator<Item = f64>>(values_s: impl Fn() -> I, policy: &MetricPolicy) -> Self {
        let samples = values_s().count();
        let ranked = order::narrow(&values_s, &ranks(samples, policy));
        let read = Self::read(samples, policy, |rank| ranked.at(rank));
        read.with_moments(Moments::of(samples, values_s))
    }

    fn of_histogram<I: Iterator<Item = f64>>(
        values_s: impl Fn() -> I,
        policy: &MetricPolicy,
    ) -> Self {
        let nanos = |seconds: f64| statistics::whole((seconds * 1e9).round()) as u64;
        let histogram: Histogram = values_s().map(nanos).collect();
        let samples = histogram.len() as usize;
        let read = Self::read(samples, policy, |rank| histogram.at(rank as u64) / 1e9);
        let read = Self { percentiles_of: PercentileSource::Histogram, ..read };
        read.with_moments(Moments::of(samples, values_s))
    }

    fn with_moments(self, moments: Option<Moments>) -> Self {
        Self {
            mean_ms: moments.map(|moments| milliseconds(moments.mean)),
            std_ms: moments.map(|moments| milliseconds(moments.std())),
            ..self
        }
    }

    /// Computes the values that depend only on ranks of the sample.
    fn read(samples: usize, policy: &MetricPolicy, mut value: impl FnMut(usize) -> f64) -> Self {
        let last = samples.checked_sub(1);
        Self {
            samples,
            min_ms: last.map(|_| milliseconds(value(0))),
            max_ms: last.map(|last| milliseconds(value(last))),
            median_ms: by_rank::median(samples, &mut value).map(milliseconds),
            percentiles: (policy.percentiles.iter())
                .map(|&percent| Percentile::of(samples, percent, policy, &mut value))
                .collect(),
            ..Self::default()
        }
    }

    /// Returns the value of a percentile, unless its estimate has no confidence interval. Without
    /// any estimates it returns the value.
    pub fn bounded_percentile_ms(&self, wanted: f64) -> Option<f64> {
        let estimate = self.estimates.as_ref().and_then(|all| all.percentile(wanted));
        let is_bounded = estimate.is_none_or(|estimate| !estimate.too_short);
        self.percentile_ms(wanted).filter(|_| is_bounded)
    }

    /// Returns the value of a percentile in milliseconds, if it is known.
    pub fn percentile_ms(&self, wanted: f64) -> Option<f64> {
        self.percentiles.iter().find_map(|percentile| match *percentile {
            Percentile::Known { percent, value_ms } if percent.total_cmp(&wanted).is_eq() => {
                Some(value_ms)
            }
            _ => None,
        })
    }
}

impl Percentile {
    /// Returns the rank in percent.
    pub fn percent(&self) -> f64 {
        match *self {
            Self::Known { percent, .. } | Self::TooFew { percent, .. } => percent,
        }
    }

    /// Returns the least number of requests with values that resolves the percentile.
    pub fn fewest_requests(&self) -> usize {
        SampleSize::Resolving.needs(self.percent())
    }

    fn of(
        samples: usize,
        percent: f64,
        policy: &MetricPolicy,
        value: &mut impl FnMut(usize) -> f64,
    ) -> Self {
        match policy.percentile_rule.read(samples, percent, value) {
            Some(value) => Self::Known { percent, value_ms: milliseconds(value) },
            None => Self::TooFew { percent, missing_samples: policy.sample_size.needs(percent) },
        }
    }

    /// Returns the percentile, or `TooFew` if its values come from too few requests.
    fn of_requests(self, requests: usize, policy: &MetricPolicy) -> Self {
        let percent = self.percent();
        let missing_samples = policy.sample_size.needs(percent).saturating_sub(requests);
        if missing_samples == 0 { self } else { Self::TooFew { percent, missing_samples } }
    }
}

/// Returns the ranks that the summary of a sample of this size reads.
fn ranks(samples: usize, policy: &MetricPolicy) -> Vec<usize> {
    let mut ranks = Vec::new();
    Summary::read(samples, policy, |rank| {
        ranks.push(rank);
        0.0
    });
    order::in_order(ranks)
}

fn milliseconds(seconds: f64) -> f64 {
    seconds * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PercentileRule;
    use crate::SampleBudget;

    fn values(count: usize) -> Vec<f64> {
        (0..count).map(|value| value as f64 / 1000.0).collect()
    }

    #[track_caller]
    fn needs(percent: f64, samples: usize) {
        let policy = MetricPolicy { percentiles: vec![percent], ..MetricPolicy::native() };
        let summary = Summary::of(&values(samples - 1), &policy);
        assert_eq!(summary.percentiles, [Percentile::TooFew { percent, missing_samples: 1 }]);
        assert!(Summary::of(&values(samples), &policy).percentile_ms(percent).is_some());
    }

    #[test]
    fn a_percentile_needs_a_sample_that_resolves_it() {
        needs(50.0, 2);
        needs(90.0, 10);
        needs(95.0, 20);
        needs(99.0, 100);
        needs(99.9, 1000);
    }

    #[test]
    fn the_gaps_of_a_request_resolve_no_percentile_of_their_own() {
        let gaps = values(5000);
        let of_requests = |requests| {
            Summary::of_values(|| gaps.iter().copied(), requests, &MetricPolicy::native())
        };
        assert_eq!(of_requests(90).percentile_ms(99.9), None);
        assert_eq!(of_requests(90).percentile_ms(99.0), None);
        assert!(of_requests(90).percentile_ms(95.0).is_some());
        assert!(of_requests(1000).percentile_ms(99.9).is_some());
        let missing = Percentile::TooFew { percent: 99.9, missing_samples: 910 };
        assert_eq!(of_requests(90).percentiles.last(), Some(&missing));
    }

    #[test]
    fn an_empty_sample_has_no_numbers() {
        let empty = Summary::of(&[], &MetricPolicy::native());
        assert_eq!(
            (empty.samples, empty.mean_ms, empty.max_ms, empty.std_ms),
            (0, None, None, None)
        );
        assert!(empty.percentiles.iter().all(|p| matches!(p, Percentile::TooFew { .. })));
    }

    #[test]
    fn a_sample_too_large_to_keep_has_the_same_numbers() {
        for samples in [1, 7, 8, 129, 1000, 4321] {
            let scattered: Vec<f64> = (0..samples)
                .map(|value| f64::from(value * 7919 % 1009) / 3e4 + f64::from(value % 3) * 0.02)
                .collect();
            for policy in [MetricPolicy::native(), MetricPolicy::sglang()] {
                let kept = Summary::of(&scattered, &policy);
                let policy = policy.with_sample_budget(SampleBudget::new(0, BeyondBudget::Exact));
                assert_eq!(Summary::of(&scattered, &policy), kept);
            }
        }
    }

    #[test]
    fn a_histograms_percentiles_are_close_and_say_so() {
        let scattered = values(5000);
        let kept = Summary::of(&scattered, &MetricPolicy::native());
        let budget = SampleBudget::new(8 * 4999, BeyondBudget::Histogram);
        let policy = MetricPolicy::native().with_sample_budget(budget);
        let summary = Summary::of(&scattered, &policy);
        assert_eq!(summary.percentiles_of, PercentileSource::Histogram);
        assert_eq!((summary.mean_ms, summary.std_ms), (kept.mean_ms, kept.std_ms));
        assert_eq!((summary.min_ms, summary.max_ms), (kept.min_ms, kept.max_ms));
        for percent in [50.0, 90.0, 99.0, 99.9] {
            let [ours, exact] = [&summary, &kept].map(|of| of.percentile_ms(percent).unwrap());
            assert!((ours - exact).abs() <= exact * 0.0005, "{ours} is not {exact}");
        }
        assert_eq!(Summary::of(&scattered[1..], &policy).percentiles_of, PercentileSource::Sample);
    }

    #[test]
    fn sglang_interpolates_however_small_the_sample() {
        let summary = Summary::of(&[0.1, 0.3], &MetricPolicy::sglang());
        assert_eq!(summary.percentile_ms(99.0), Some(298.0));
        assert_eq!(summary.percentile_ms(50.0), None);
    }

    #[test]
    fn a_peer_with_nearest_ranks_gets_a_value_of_the_sample() {
        let nearest = PercentileRule::NearestRank;
        let policy = MetricPolicy { percentile_rule: nearest, ..MetricPolicy::sglang() };
        assert_eq!(Summary::of(&values(10), &policy).percentile_ms(90.0), Some(8.0));
    }
}
