//! Weighted choice of both NumPy generators: a cumulative sum searched with a uniform draw.
//!
//! The module draws nothing itself, so it does not depend on the generator of the uniform number.

/// A cumulative distribution, summed from the left and divided by its last element.
///
/// NumPy divides the sums and not the weights, and sums without compensation; both decide the last
/// bit.
#[derive(Debug)]
pub(crate) struct Cumulative(Vec<f64>);

impl Cumulative {
    /// Returns `None` if a weight is negative or not finite, or if all weights are zero.
    pub(crate) fn new(weights: &[f64]) -> Option<Self> {
        if !weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0) {
            return None;
        }
        let sums = cumulative_sums(weights);
        let total = sums.last().copied().filter(|total| *total > 0.0 && total.is_finite())?;
        Some(Self(sums.into_iter().map(|sum| sum / total).collect()))
    }

    /// Returns the first index whose sum is above `uniform`.
    pub(crate) fn index(&self, uniform: f64) -> usize {
        self.0.partition_point(|sum| *sum <= uniform)
    }
}

fn cumulative_sums(weights: &[f64]) -> Vec<f64> {
    let running = |sum: &mut f64, weight: &f64| {
        *sum += weight;
        Some(*sum)
    };
    weights.iter().scan(0.0, running).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(weights: &[f64], uniform: f64, index: usize) {
        assert_eq!(Cumulative::new(weights).unwrap().index(uniform), index);
    }

    #[test]
    fn a_sum_that_is_hit_exactly_is_passed() {
        check(&[1.0, 1.0], 0.5, 1);
        check(&[1.0, 1.0], 0.5_f64.next_down(), 0);
    }

    #[test]
    fn weight_zero_is_passed_even_at_the_ends() {
        check(&[0.0, 3.0, 0.0], 0.0, 1);
        check(&[0.0, 3.0, 0.0], 1.0_f64.next_down(), 1);
    }

    #[test]
    fn weights_that_add_up_to_infinity_are_refused() {
        assert!(Cumulative::new(&[f64::MAX, f64::MAX]).is_none());
    }
}
