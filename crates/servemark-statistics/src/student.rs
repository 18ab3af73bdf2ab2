//! Student's t for values that are independent by construction, such as the means of whole runs.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::moments;

/// Returns the two-sided confidence interval of the mean of independent values; absent for fewer
/// than two.
pub fn independent_mean(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let degrees = values.len().checked_sub(1).filter(|degrees| *degrees > 0)? as f64;
    let (mean, variance) = moments(values);
    let quantile = quantile(1.0 - (1.0 - confidence) / 2.0, degrees)?;
    let half = quantile * (variance / values.len() as f64).sqrt();
    Some((mean - half, mean + half))
}

/// Returns the mean of values and their sample standard deviation (n - 1), which needs two values;
/// absent without values.
pub fn mean_and_deviation(values: &[f64]) -> Option<(f64, Option<f64>)> {
    let (mean, variance) = moments(values);
    (!values.is_empty()).then(|| (mean, (values.len() > 1).then(|| variance.sqrt())))
}

/// Returns whether a quantity rises by more than chance, from its steps over equal times.
///
/// The test is Student's on the steps. It asks whether a random walk has a drift, so it holds
/// however long the quantity is correlated, where a test of a regression line takes any slow change
/// for a rise.
pub fn rises(steps: &[f64], confidence: f64) -> bool {
    let Some(degrees) = steps.len().checked_sub(1).filter(|degrees| *degrees > 0) else {
        return false;
    };
    let (mean, variance) = moments(steps);
    let error = (variance / steps.len() as f64).sqrt();
    quantile(confidence, degrees as f64).is_some_and(|limit| mean > limit * error)
}

/// Returns the quantile of Student's t at a probability.
pub(crate) fn quantile(probability: f64, degrees: f64) -> Option<f64> {
    StudentsT::new(0.0, 1.0, degrees).ok().map(|student| student.inverse_cdf(probability))
}

/// Returns the quantile of the normal distribution at a probability.
pub(crate) fn normal_quantile(probability: f64) -> Option<f64> {
    Normal::new(0.0, 1.0).ok().map(|normal| normal.inverse_cdf(probability))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn half_width(values: &[f64], expected: f64) {
        let (low, high) = independent_mean(values, 0.95).unwrap();
        let half = (high - low) / 2.0;
        assert!((half - expected).abs() < 1e-9 * expected, "{half} is not {expected}");
    }

    #[test]
    fn the_interval_is_students() {
        // Quantiles of t at 0.975 for 1 and 4 degrees of freedom, from printed tables.
        half_width(&[0.0, 2.0], 12.706_204_736_174_698);
        half_width(&[1.0, 2.0, 3.0, 4.0, 5.0], 2.776_445_105_197_793 * (2.5_f64 / 5.0).sqrt());
        assert_eq!(independent_mean(&[1.0], 0.95), None);
    }

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        assert_eq!(
            mean_and_deviation(&[1.0, 2.0, 4.0, 5.0]),
            Some((3.0, Some((10.0_f64 / 3.0).sqrt())))
        );
        assert_eq!(mean_and_deviation(&[4.0]), Some((4.0, None)));
        assert_eq!(mean_and_deviation(&[]), None);
    }

    #[test]
    fn steps_upwards_are_a_rise_and_a_single_jump_is_not() {
        assert!(rises(&[1.0, 1.2, 0.9, 1.1, 1.0, 0.8], 0.99));
        assert!(!rises(&[0.0, 0.0, 6.0, 0.0, 0.0, 0.0], 0.99));
        assert!(!rises(&[-1.0, 1.0, -0.5, 0.7], 0.99));
        assert!(!rises(&[1.0], 0.99));
    }
}
