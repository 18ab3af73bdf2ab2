//! Summary of a sample of any quantity.

use serde::Serialize;

use crate::policy::{MetricPolicy, PercentileRule};
use crate::statistics;

/// Summary of a sample of any quantity, in the quantity's own unit. All values are absent for an
/// empty sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Distribution {
    /// Number of values.
    pub samples: usize,
    /// Mean of the values.
    pub mean: Option<f64>,
    /// Smallest value.
    pub min: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
    /// Percentiles: pairs of the rank in percent and the value.
    pub percentiles: Vec<(f64, f64)>,
}

impl Distribution {
    /// Summarises a sample in the order of measurement, with the percentiles that a policy asks
    /// for.
    pub fn of(sample: impl IntoIterator<Item = f64>, policy: &MetricPolicy) -> Self {
        Self::by_rule(sample, policy.percentile_rule, &policy.percentiles)
    }

    /// Summarises a sample in the order of measurement, with the given percentiles in percent.
    pub fn by_rule(
        sample: impl IntoIterator<Item = f64>,
        rule: PercentileRule,
        percentiles: &[f64],
    ) -> Self {
        let mut sample: Vec<f64> = sample.into_iter().collect();
        let mean = statistics::mean(&sample);
        servemark_statistics::sort(&mut sample);
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

    /// Returns the value of a percentile, if it was asked for.
    pub fn percentile(&self, wanted: f64) -> Option<f64> {
        let known = self.percentiles.iter().find(|(percent, _)| percent.total_cmp(&wanted).is_eq());
        known.map(|&(_, value)| value)
    }
}
