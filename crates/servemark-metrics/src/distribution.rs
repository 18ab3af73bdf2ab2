//! What is said of a sample of anything.

use serde::Serialize;

use crate::policy::{MetricPolicy, PercentileRule};
use crate::statistics;

/// What is said of a sample of anything, in its own unit. Of an empty one nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Distribution {
    /// How many values there are.
    pub samples: usize,
    /// The mean.
    pub mean: Option<f64>,
    /// The smallest value.
    pub min: Option<f64>,
    /// The largest value.
    pub max: Option<f64>,
    /// Percentiles: which, in percent, and their values.
    pub percentiles: Vec<(f64, f64)>,
}

impl Distribution {
    /// A sample in the order of measurement, with the percentiles that a policy wants.
    pub fn of(sample: impl IntoIterator<Item = f64>, policy: &MetricPolicy) -> Self {
        Self::by_rule(sample, policy.percentile_rule, &policy.percentiles)
    }

    /// The same with percentiles that are asked for.
    pub fn by_rule(
        sample: impl IntoIterator<Item = f64>,
        rule: PercentileRule,
        percentiles: &[f64],
    ) -> Self {
        let mut sample: Vec<f64> = sample.into_iter().collect();
        let mean = statistics::mean(&sample);
        sample.sort_unstable_by(f64::total_cmp);
        let read = |&percent: &f64| {
            let value = rule.read(sample.len(), percent, &mut |rank| sample[rank])?;
            Some((percent, value))
        };
        Self {
            samples: sample.len(),
            mean,
            min: sample.first().copied(),
            max: sample.last().copied(),
            percentiles: percentiles.iter().filter_map(read).collect(),
        }
    }

    /// The value of a percentile, if it is known.
    pub fn percentile(&self, wanted: f64) -> Option<f64> {
        let known = self.percentiles.iter().find(|(percent, _)| percent.total_cmp(&wanted).is_eq());
        known.map(|&(_, value)| value)
    }
}
