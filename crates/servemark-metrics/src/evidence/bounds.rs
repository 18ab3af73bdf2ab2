//! Confidence bounds: of percentiles by ranks, of shares by Clopper and Pearson, of means by
//! Student's t.

use statrs::distribution::{Beta, Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

use super::column::{Batch, ratio};
use crate::statistics::whole;

/// Between which ranks of a sorted sample, from one, the percentile of what it was drawn from lies:
/// below neither and above neither with more than a chance of `alpha`. A rank that no sample of
/// this size has is absent.
///
/// How many of `draws` independent values lie below the percentile is a binomial number, whatever
/// they are the values of.
pub(super) fn ranks(draws: u64, share: f64, alpha: f64) -> (Option<u64>, Option<u64>) {
    let Ok(below) = Binomial::new(share, draws) else { return (None, None) };
    let high = below.inverse_cdf(1.0 - alpha) + 1;
    let at = below.inverse_cdf(alpha);
    let low = if below.cdf(at) <= alpha { at + 1 } else { at };
    ((low > 0).then_some(low), (high <= draws).then_some(high))
}

/// The fewest draws with which a percentile can be bounded from above at all.
pub(crate) fn fewest_draws(share: f64, alpha: f64) -> usize {
    whole((alpha.ln() / share.ln()).ceil())
}

/// Between which shares that of the server lies, where so large a share of `draws` was seen.
pub(super) fn share(seen: f64, draws: f64, alpha: f64) -> (f64, f64) {
    let (hits, misses) = (seen * draws, (1.0 - seen) * draws);
    let bound = |hits: f64, misses: f64, at: f64| {
        Beta::new(hits, misses).ok().map(|beta| beta.inverse_cdf(at))
    };
    let low = bound(hits, misses + 1.0, alpha).unwrap_or(0.0);
    let high = bound(hits + 1.0, misses, 1.0 - alpha).unwrap_or(1.0);
    (low, high)
}

/// The mean of all batches' values, and between which means that of the server lies.
pub(super) fn mean(batches: &[Batch], alpha: f64) -> Option<(f64, f64, f64)> {
    let (mean, variance) = ratio(batches)?;
    let student = StudentsT::new(0.0, 1.0, (batches.len() - 1) as f64).ok()?;
    let half = student.inverse_cdf(1.0 - alpha) * variance.sqrt();
    Some((mean, mean - half, mean + half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_printed_tables() {
        // One-sided 95 %: the largest of 59 values is above the 95th percentile, of 299 the 99th.
        assert_eq!(ranks(58, 0.95, 0.05).1, None);
        assert_eq!(ranks(59, 0.95, 0.05).1, Some(59));
        assert_eq!(ranks(298, 0.99, 0.05).1, None);
        assert_eq!(ranks(299, 0.99, 0.05).1, Some(299));
        // The median of 20 lies between the sixth and the fifteenth value.
        assert_eq!(ranks(20, 0.5, 0.05), (Some(6), Some(15)));
        assert_eq!(ranks(4, 0.5, 0.05), (None, None));
        assert_eq!([fewest_draws(0.95, 0.05), fewest_draws(0.99, 0.05)], [59, 299]);
    }

    #[test]
    fn shares_are_those_of_printed_tables() {
        let near = |(low, high): (f64, f64), expected: (f64, f64)| {
            assert!((low - expected.0).abs() < 5e-5, "{low}");
            assert!((high - expected.1).abs() < 5e-5, "{high}");
        };
        // Two-sided 95 % for 7 of 10: 0.3475 to 0.9333; nothing of ten: up to 0.3085.
        near(share(0.7, 10.0, 0.025), (0.3475, 0.9333));
        near(share(0.0, 10.0, 0.025), (0.0, 0.3085));
        near(share(1.0, 299.0, 0.05), (0.990_03, 1.0));
    }
}
