//! Bounds of percentiles by ranks, for any distribution of the values.

use statrs::distribution::{Binomial, DiscreteCDF};

/// Returns the one-based ranks of a sorted sample between which the percentile of the process lies.
/// It is below the lower one, and above the upper one, each with a probability of at most `alpha`.
/// A rank that no sample of `draws` values has is absent.
///
/// The number of `draws` independent values below the percentile is binomial.
pub fn rank_bounds(draws: u64, share: f64, alpha: f64) -> (Option<u64>, Option<u64>) {
    let Ok(below) = Binomial::new(share, draws) else { return (None, None) };
    let high = below.inverse_cdf(1.0 - alpha) + 1;
    let at = below.inverse_cdf(alpha);
    let low = if below.cdf(at) <= alpha { at + 1 } else { at };
    ((low > 0).then_some(low), (high <= draws).then_some(high))
}

/// Returns the least number of independent values with which a percentile can be bounded from
/// above.
pub fn fewest_draws(share: f64, alpha: f64) -> usize {
    whole((alpha.ln() / share.ln()).ceil())
}

/// Returns the least number of independent values that bound a percentile from above if `misses` of
/// them lie above the limit: at most that many misses would have a probability below `alpha` if the
/// percentile were above the limit. `LoadGen` of `MLPerf` calls it early stopping.
pub fn fewest_with_misses(misses: usize, share: f64, alpha: f64) -> usize {
    let shows = |draws: usize| {
        let above = Binomial::new(1.0 - share, draws as u64).ok();
        above.is_some_and(|above| above.cdf(misses as u64) < alpha)
    };
    let mut high = misses + 1;
    while !shows(high) {
        high *= 2;
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if shows(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// Returns the integer part of a count; zero for a number below zero.
#[expect(clippy::cast_sign_loss, reason = "a value below zero becomes zero, as it should")]
pub(crate) fn whole(value: f64) -> usize {
    value as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_stopping_takes_as_many_queries_as_loadgen_says() {
        // LoadGen's own minima with one query over the limit: 64 for the 90th percentile and 662
        // for the 99th.
        assert_eq!([0, 1, 2].map(|over| fewest_with_misses(over, 0.99, 0.01)), [459, 662, 838]);
        assert_eq!(fewest_with_misses(1, 0.9, 0.01), 64);
    }

    #[test]
    fn ranks_are_those_of_printed_tables() {
        // One-sided 95 %: the largest of 59 values is above the 95th percentile, of 299 above the
        // 99th.
        assert_eq!(rank_bounds(58, 0.95, 0.05).1, None);
        assert_eq!(rank_bounds(59, 0.95, 0.05).1, Some(59));
        assert_eq!(rank_bounds(298, 0.99, 0.05).1, None);
        assert_eq!(rank_bounds(299, 0.99, 0.05).1, Some(299));
        // The median of 20 lies between the sixth and the fifteenth value.
        assert_eq!(rank_bounds(20, 0.5, 0.05), (Some(6), Some(15)));
        assert_eq!(rank_bounds(4, 0.5, 0.05), (None, None));
        assert_eq!([fewest_draws(0.95, 0.05), fewest_draws(0.99, 0.05)], [59, 299]);
    }
}
