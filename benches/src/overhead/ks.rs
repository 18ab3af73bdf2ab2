//! Tests whether gaps are those of a Poisson process, with the Kolmogorov-Smirnov test.

use serde::{Deserialize, Serialize};

/// Result of a Kolmogorov-Smirnov test of a sample against a distribution.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct KolmogorovSmirnov {
    /// Largest distance of the two cumulative distributions.
    pub distance: f64,
    /// Probability that a sample of the distribution itself has at least this distance.
    pub p_value: f64,
}

impl KolmogorovSmirnov {
    /// Compares sorted gaps, in seconds, with those of a Poisson process of this rate; absent
    /// without gaps.
    pub fn of_gaps(sorted: &[f64], per_second: f64) -> Option<Self> {
        let count = sorted.len() as f64;
        let distances = (0..).zip(sorted).map(|(below, gap)| {
            let expected = 1.0 - (-gap * per_second).exp();
            let (before, after) = (f64::from(below) / count, f64::from(below + 1) / count);
            (expected - before).abs().max((after - expected).abs())
        });
        let distance = distances.max_by(f64::total_cmp)?;
        Some(Self { distance, p_value: p_value(distance, count) })
    }
}

/// Returns the limiting distribution, with Stephens' correction for a sample of this size. Near
/// zero its series does not converge usefully, and the value is one to many digits.
fn p_value(distance: f64, count: f64) -> f64 {
    let scaled = (count.sqrt() + 0.12 + 0.11 / count.sqrt()) * distance;
    if scaled < NEARLY_CERTAIN {
        return 1.0;
    }
    let term = |k: i32| {
        let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
        sign * (-2.0 * (f64::from(k) * scaled).powi(2)).exp()
    };
    (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

const NEARLY_CERTAIN: f64 = 0.2;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the quantiles of the exponential distribution, in the middle of equal shares.
    fn exponential(count: u32, per_second: f64) -> Vec<f64> {
        let share = |index: u32| (f64::from(index) + 0.5) / f64::from(count);
        (0..count).map(|index| -(1.0 - share(index)).ln() / per_second).collect()
    }

    #[test]
    fn its_own_quantiles_are_as_near_as_can_be() {
        let test = KolmogorovSmirnov::of_gaps(&exponential(1000, 500.0), 500.0).unwrap();
        assert!((test.distance - 0.0005).abs() < 1e-9, "{test:?}");
        assert!(test.p_value > 0.999_999);
    }

    #[test]
    fn another_rate_is_seen() {
        let test = KolmogorovSmirnov::of_gaps(&exponential(1000, 400.0), 500.0).unwrap();
        assert!(test.p_value < 0.05 && test.distance > 0.03, "{test:?}");
    }

    #[test]
    fn a_steady_beat_is_no_poisson_process() {
        let test = KolmogorovSmirnov::of_gaps(&[0.002; 50], 500.0).unwrap();
        assert!((test.distance - (1.0 - (-1.0_f64).exp())).abs() < 1e-12);
        assert!(test.p_value < 1e-12);
    }

    #[test]
    fn levels_of_significance_are_those_of_the_tables() {
        // The asymptotic critical values 1.3581 and 1.6276 of 5 and 1 per cent.
        let large = 1e12_f64;
        assert!((p_value(1.3581 / large.sqrt(), large) - 0.05).abs() < 1e-4);
        assert!((p_value(1.6276 / large.sqrt(), large) - 0.01).abs() < 1e-4);
        assert_eq!(KolmogorovSmirnov::of_gaps(&[], 1.0), None);
    }
}
