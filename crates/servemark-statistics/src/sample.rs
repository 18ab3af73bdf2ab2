//! A sample in the order of time, in clusters.

use crate::Estimate;
use crate::mean::mean;
use crate::percentile::percentile;

/// Values in the order of time. A request gives one value, or a cluster of several (the gaps
/// between its tokens), or none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    values: Vec<f64>,
    /// End of each cluster in `values`.
    ends: Vec<usize>,
    unmet_waits: f64,
}

impl Sample {
    /// Adds the values of the next request. A request without values adds nothing.
    pub fn push(&mut self, cluster: impl IntoIterator<Item = f64>) {
        self.values.extend(cluster);
        if self.ends.last().copied().unwrap_or_default() < self.values.len() {
            self.ends.push(self.values.len());
        }
    }

    /// Declares that values contain waits in a queue, and by how much waits that no request of the
    /// sample met may raise the mean at most. The upper end of the mean's interval then leaves room for
    /// them.
    #[must_use]
    pub fn with_unmet_waits(self, most: f64) -> Self {
        Self { unmet_waits: most, ..self }
    }

    /// Returns by how much waits that no request of the sample met may raise the mean at most.
    pub(crate) fn unmet_waits(&self) -> f64 {
        self.unmet_waits
    }

    /// Returns all values.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns the number of clusters that have values.
    pub fn clusters(&self) -> usize {
        self.ends.len()
    }

    /// Estimates the mean. For an empty sample the value is NaN and there is no interval; infinite
    /// values have no mean.
    pub fn mean(&self, confidence: f64) -> Estimate {
        mean(self, confidence)
    }

    /// Estimates a percentile by its share (0.99 for p99).
    pub fn percentile(&self, share: f64, confidence: f64) -> Estimate {
        let mut sorted = self.values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        self.percentile_of_sorted(&sorted, share, confidence)
    }

    /// Estimates several percentiles and sorts the values only once.
    pub fn percentiles(&self, shares: &[f64], confidence: f64) -> Vec<Estimate> {
        let mut sorted = self.values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let each = shares.iter();
        each.map(|share| self.percentile_of_sorted(&sorted, *share, confidence)).collect()
    }

    /// Sorts the values for repeated estimates of percentiles.
    pub fn sorted(self) -> SortedSample {
        let mut sorted = self.values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        SortedSample { sample: self, sorted }
    }

    fn percentile_of_sorted(&self, sorted: &[f64], share: f64, confidence: f64) -> Estimate {
        percentile(self, sorted, share, confidence)
    }

    /// Applies `of` to each cluster's values and returns the results.
    pub(crate) fn by_cluster(&self, of: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        let mut from = 0;
        let cluster = |until: &usize| {
            let values = &self.values[from..*until];
            from = *until;
            of(values)
        };
        self.ends.iter().map(cluster).collect()
    }

    /// Returns the mean number of values in a cluster.
    pub(crate) fn mean_size(&self) -> f64 {
        self.values.len() as f64 / self.ends.len() as f64
    }
}

/// A sample whose values are sorted once.
#[derive(Clone, Debug, PartialEq)]
pub struct SortedSample {
    sample: Sample,
    sorted: Vec<f64>,
}

impl SortedSample {
    /// Returns the sample in the order of time.
    pub fn in_time(&self) -> &Sample {
        &self.sample
    }

    /// Estimates a percentile by its share (0.99 for p99).
    pub fn percentile(&self, share: f64, confidence: f64) -> Estimate {
        self.sample.percentile_of_sorted(&self.sorted, share, confidence)
    }
}

/// Collects values, each of which is a cluster of its own.
impl FromIterator<f64> for Sample {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let ends = (1..=values.len()).collect();
        Self { values, ends, unmet_waits: 0.0 }
    }
}
