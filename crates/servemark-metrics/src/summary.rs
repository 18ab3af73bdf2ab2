//! What is said of one sample of latencies.

use serde::Serialize;

use crate::policy::{MetricPolicy, PercentileRule, SampleSize};
use crate::statistics;

/// What is said of one sample of latencies, in milliseconds. What cannot be known is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// How many values there are.
    pub samples: usize,
    /// The mean.
    pub mean_ms: Option<f64>,
    /// Where the mean lies with 95 % confidence, if requests are independent of each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_interval_ms: Option<Interval>,
    /// The median.
    pub median_ms: Option<f64>,
    /// The population standard deviation.
    pub std_ms: Option<f64>,
    /// The smallest value.
    pub min_ms: Option<f64>,
    /// The largest value.
    pub max_ms: Option<f64>,
    /// The percentiles that the policy wants.
    pub percentiles: Vec<Percentile>,
}

/// One percentile, or why there is none. Closed: it is known or it is not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Percentile {
    /// The sample resolves it.
    Known {
        /// Which, in percent.
        percent: f64,
        /// Its value.
        value_ms: f64,
    },
    /// The sample is too small.
    TooFew {
        /// Which, in percent.
        percent: f64,
        /// How many more samples it needs.
        missing_samples: usize,
    },
}

/// An interval of milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Interval {
    /// Its lower end.
    pub low_ms: f64,
    /// Its upper end.
    pub high_ms: f64,
}

impl Summary {
    /// A sample of seconds in the order of measurement, summed up as the policy wants.
    pub fn of(sample_s: &[f64], policy: &MetricPolicy) -> Self {
        let mut sorted = sample_s.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let percentile = |&percent: &f64| Percentile::of(&sorted, percent, policy);
        Self {
            samples: sample_s.len(),
            mean_ms: statistics::mean(sample_s).map(milliseconds),
            mean_interval_ms: None,
            median_ms: statistics::median(&sorted).map(milliseconds),
            std_ms: statistics::std(sample_s).map(milliseconds),
            min_ms: sorted.first().copied().map(milliseconds),
            max_ms: sorted.last().copied().map(milliseconds),
            percentiles: policy.percentiles.iter().map(percentile).collect(),
        }
    }

    /// The same with the confidence interval of the mean.
    pub(crate) fn with_interval(mut self, sample_s: &[f64]) -> Self {
        self.mean_interval_ms = statistics::mean_interval(sample_s)
            .map(|(low, high)| Interval { low_ms: milliseconds(low), high_ms: milliseconds(high) });
        self
    }

    /// The value of a percentile, if it is known.
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
    /// Which percentile it is, in percent.
    pub fn percent(&self) -> f64 {
        match *self {
            Self::Known { percent, .. } | Self::TooFew { percent, .. } => percent,
        }
    }

    fn of(sorted: &[f64], percent: f64, policy: &MetricPolicy) -> Self {
        let needed = samples_needed(percent, policy.sample_size);
        let value = match policy.percentile_rule {
            PercentileRule::Linear => statistics::percentile(sorted, percent),
            PercentileRule::NearestRank => statistics::nearest_rank(sorted, percent),
        };
        match value {
            Some(value) if sorted.len() >= needed => {
                Self::Known { percent, value_ms: milliseconds(value) }
            }
            _ => Self::TooFew { percent, missing_samples: needed.saturating_sub(sorted.len()) },
        }
    }
}

fn samples_needed(percent: f64, rule: SampleSize) -> usize {
    match rule {
        SampleSize::Any => 1,
        SampleSize::Resolving if percent >= 100.0 => 1,
        // The slack keeps 99.9, which no binary fraction is, from asking for 1001.
        SampleSize::Resolving => statistics::whole((100.0 / (100.0 - percent) - 1e-6).ceil()),
    }
}

fn milliseconds(seconds: f64) -> f64 {
    seconds * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn an_empty_sample_has_no_numbers() {
        let empty = Summary::of(&[], &MetricPolicy::native());
        assert_eq!(
            (empty.samples, empty.mean_ms, empty.max_ms, empty.std_ms),
            (0, None, None, None)
        );
        assert!(empty.percentiles.iter().all(|p| matches!(p, Percentile::TooFew { .. })));
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
