//! Repeated looks at a sample while it grows.
//!
//! Each look may be the one at which the sample happens to look better than the process is. So the
//! error probability is divided among the looks: by the union bound (Bonferroni), the probability
//! that any interval of any look misses is at most the sum of the parts, whatever the stopping rule
//! is and however the looks depend on each other. Looks at sizes that grow by a factor are few
//! (Darling and Robbins 1967; Howard, Ramdas and others 2021 call such a family a confidence
//! sequence by stitching).

use statrs::distribution::{ContinuousCDF, Normal};

/// The sizes at which a growing sample is looked at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Looks {
    first: usize,
    limit: usize,
}

impl Looks {
    /// Creates looks at `first` values, at a fifth more each time, and at the end, which is at
    /// `limit` values at the latest.
    pub fn new(first: usize, limit: usize) -> Self {
        Self { first: first.max(1), limit }
    }

    /// Returns the sizes before the end at which the sample is looked at.
    fn sizes(self) -> impl Iterator<Item = usize> {
        let more = |size: &usize| size.checked_add(size.div_ceil(5));
        let sizes = std::iter::successors(Some(self.first), more);
        sizes.take_while(move |size| *size < self.limit)
    }

    /// Returns the next size above `requests` at which the sample is looked at; absent if that is the
    /// end.
    pub fn after(&self, requests: usize) -> Option<usize> {
        self.sizes().find(|size| *size > requests)
    }

    /// Returns the one-based number of the look at `requests` values, which must be one of the sizes or
    /// the end of the sample.
    pub fn number(&self, requests: usize) -> usize {
        1 + self.sizes().take_while(|size| *size < requests).count()
    }

    /// Returns the number of looks up to the limit.
    pub fn count(&self) -> usize {
        1 + self.sizes().count()
    }

    /// Returns the confidence for the intervals of each look, so that those of all looks together
    /// have `confidence`. Each look has an equal part of the error probability.
    pub fn confidence(&self, confidence: f64) -> f64 {
        1.0 - (1.0 - confidence) / self.count() as f64
    }
}

/// Returns the confidence for the intervals of one of several looks, so that those of all looks
/// together have `confidence`. `look` is its one-based number out of `looks`. The error probability
/// is spent as in O'Brien and Fleming's bounds (Lan and `DeMets` 1983): little at first, when few
/// values show little, and most at the end.
pub fn confidence_of_look(look: usize, looks: usize, confidence: f64) -> f64 {
    let error = 1.0 - confidence;
    let normal = Normal::standard();
    let limit = normal.inverse_cdf(1.0 - error / 2.0);
    let spent = |looks_done: usize| {
        let share: f64 = (looks_done as f64 / looks as f64).min(1.0);
        if share > 0.0 { 2.0 * normal.sf(limit / share.sqrt()) } else { 0.0 }
    };
    1.0 - (spent(look) - spent(look.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use servemark_rng::NumpyRandom;

    use super::*;
    use crate::Observations;

    #[test]
    fn sizes_grow_by_a_fifth_up_to_the_limit() {
        let looks = Looks::new(50, 90);
        assert_eq!(looks.sizes().collect::<Vec<_>>(), [50, 60, 72, 87]);
        assert_eq!(looks.after(0), Some(50));
        assert_eq!([looks.after(50), looks.after(71), looks.after(87)], [Some(60), Some(72), None]);
        assert_eq!([50, 60, 61, 90].map(|requests| looks.number(requests)), [1, 2, 3, 5]);
    }

    #[test]
    fn the_parts_of_the_error_come_to_the_whole_of_it() {
        let looks = Looks::new(50, 90);
        let error = 1.0 - looks.confidence(0.95);
        assert!((error * looks.count() as f64 - 0.05).abs() < 1e-12);
        assert_eq!(looks.count(), 5);
    }

    #[test]
    fn most_of_the_error_is_spent_at_the_end() {
        let errors: Vec<f64> =
            (1..=5).map(|look| 1.0 - confidence_of_look(look, 5, 0.95)).collect();
        assert!((errors.iter().sum::<f64>() - 0.05).abs() < 1e-9);
        assert!(errors.is_sorted() && errors[0] < 1e-4 && errors[4] > 0.02, "{errors:?}");
    }

    /// Runs stop at the first look whose interval is narrow enough. Without dividing the error
    /// probability, more than the required 5 % of those intervals would miss the truth.
    #[test]
    fn stopping_at_a_narrow_interval_keeps_the_confidence() {
        let (looks, truth) = (Looks::new(40, 4000), (0.5_f64 * 1.2 * 1.2).exp());
        let mut random = NumpyRandom::seeded(3);
        let mut misses = 0;
        let mut stops = 0;
        for _ in 0..150 {
            let values: Vec<f64> = (0..4000).map(|_| random.normal(0.0, 1.2).exp()).collect();
            let mut requests = 0;
            while let Some(next) = looks.after(requests) {
                requests = next;
                let sample: Observations = values[..requests].iter().copied().collect();
                let confidence = looks.confidence(0.95);
                let Some((low, high)) = sample.mean(confidence).bounds.interval() else { continue };
                if high - low < 0.5 * truth {
                    stops += 1;
                    misses += u32::from(!(low..=high).contains(&truth));
                    break;
                }
            }
        }
        assert!(stops > 140 && misses <= 7, "{misses} of {stops}");
    }
}
