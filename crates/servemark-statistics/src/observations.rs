//! A statistical sample: observations in the order of time, in clusters.

use crate::Estimate;
use crate::mean::mean;
use crate::percentile::{interpolated, percentile};

/// A statistical sample: observed values in the order of time. A request gives one value, or a
/// cluster of several (the gaps between its tokens), or none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observations {
    values: Vec<f64>,
    /// End of each cluster in `values`.
    ends: Vec<usize>,
    unmet_waits: UnmetWaits,
    /// Known parts of the values of clusters: for each part its values in the order of time.
    parts: Vec<Vec<f64>>,
}

/// Waits in a queue that no request of a sample met, though requests of the process may meet them.
/// They are exponentially distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UnmetWaits {
    /// Share of the requests that may meet one at most, from 0 to 1.
    pub share: f64,
    /// Mean of such waits, in the unit of the values.
    pub mean: f64,
}

impl UnmetWaits {
    /// Returns by how much such waits may raise the mean of all requests at most.
    pub(crate) fn of_mean(&self) -> f64 {
        self.share.min(1.0) * self.mean
    }

    /// Returns by how much such waits may raise a percentile of sorted values at most.
    ///
    /// If a share `s` of the requests waits, the percentile at the share `p` is at most that of the
    /// others at `p / (1 - s)`, and at most one mean wait higher than that of the sample. If `s`
    /// exceeds `1 - p`, the percentile lies among the waits themselves, and `ln(s / (1 - p))` mean
    /// waits are added.
    pub(crate) fn of_percentile(&self, sorted: &[f64], share: f64) -> f64 {
        let waiting = self.share.min(1.0);
        let of_others = if waiting < 1.0 { (share / (1.0 - waiting)).min(1.0) } else { 1.0 };
        let above = interpolated(sorted, of_others) - interpolated(sorted, share);
        let of_waits = (waiting / (1.0 - share)).ln().max(0.0);
        above.min(self.mean) + self.mean * of_waits
    }
}

impl Observations {
    /// Adds the values of the next request. A request without values adds nothing.
    pub fn push(&mut self, cluster: impl IntoIterator<Item = f64>) {
        self.values.extend(cluster);
        if self.ends.last().copied().unwrap_or_default() < self.values.len() {
            self.ends.push(self.values.len());
        }
    }

    /// Adds the only value of the next request, of which parts are known, for example the time to first
    /// token of an end-to-end latency. If a part of every value is known, the dependence of the parts
    /// on each other is also that of the values, where independent noise of the rest hides it. Parts may
    /// overlap.
    pub fn push_with_parts<const N: usize>(&mut self, value: f64, parts: [f64; N]) {
        self.push([value]);
        self.parts.resize_with(self.parts.len().max(N), Vec::new);
        for (series, part) in self.parts.iter_mut().zip(parts) {
            series.push(part);
        }
    }

    /// Declares that values contain waits in a queue. The upper ends of intervals then leave room for
    /// waits that no request of the sample met.
    #[must_use]
    pub fn with_unmet_waits(self, unmet_waits: UnmetWaits) -> Self {
        Self { unmet_waits, ..self }
    }

    /// Returns the waits that no request of the sample met.
    pub(crate) fn unmet_waits(&self) -> UnmetWaits {
        self.unmet_waits
    }

    /// Returns the parts that are known of the values of all clusters.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &[f64]> {
        let is_whole = |part: &&Vec<f64>| part.len() == self.ends.len();
        self.parts.iter().filter(is_whole).map(Vec::as_slice)
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
        crate::sort(&mut sorted);
        self.percentile_of_sorted(&sorted, share, confidence)
    }

    /// Estimates several percentiles and sorts the values only once.
    pub fn percentiles(&self, shares: &[f64], confidence: f64) -> Vec<Estimate> {
        let mut sorted = self.values.clone();
        crate::sort(&mut sorted);
        let each = shares.iter();
        each.map(|share| self.percentile_of_sorted(&sorted, *share, confidence)).collect()
    }

    /// Sorts the values for repeated estimates of percentiles.
    pub fn sorted(self) -> SortedObservations {
        let mut sorted = self.values.clone();
        crate::sort(&mut sorted);
        SortedObservations { sample: self, sorted }
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

/// Observations with a sorted copy of their values, for repeated estimates of percentiles.
#[derive(Clone, Debug, PartialEq)]
pub struct SortedObservations {
    sample: Observations,
    sorted: Vec<f64>,
}

impl SortedObservations {
    /// Returns the observations in the order of time.
    pub fn in_time(&self) -> &Observations {
        &self.sample
    }

    /// Estimates a percentile by its share (0.99 for p99).
    pub fn percentile(&self, share: f64, confidence: f64) -> Estimate {
        self.sample.percentile_of_sorted(&self.sorted, share, confidence)
    }
}

/// Collects values, each of which is a cluster of its own.
impl FromIterator<f64> for Observations {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let ends = (1..=values.len()).collect();
        Self { values, ends, ..Self::default() }
    }
}
