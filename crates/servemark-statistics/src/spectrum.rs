//! The low frequencies of a series: what changes slowly from one end of it to the other.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::moments;

/// Squared coefficients of a series on the cosines that have 1, 2, 3, … half waves in it, divided
/// by the variance of the values. For independent values each is chi-squared with one degree of
/// freedom, so their mean is 1; for dependent ones the mean of the first few is the variance of the
/// series' mean divided by that of the mean of independent values (Müller 2007; Lazarus, Lewis,
/// Stock and Watson 2018).
///
/// Noise that is independent from value to value hides a slow change from the differences of
/// neighbours, and not from these coefficients.
pub(crate) struct LowFrequencies(Vec<f64>);

impl LowFrequencies {
    /// Computes the coefficients. Long series are reduced to means of consecutive values.
    pub(crate) fn of(series: &[f64]) -> Self {
        let (_, variance) = moments(series);
        let count = MOST.min(series.len() / FEWEST_VALUES_EACH);
        if variance <= 0.0 || !variance.is_finite() {
            return Self(vec![1.0; count]);
        }
        let size = series.len().div_ceil(MOST_POINTS);
        let points = reduced(series, size);
        let scale = 2.0 * size as f64 / (points.len() as f64 * variance);
        let square = |waves: usize| scale * coefficient(&points, waves).powi(2);
        Self((1..=count).map(square).collect())
    }

    /// Returns the mean of the first coefficients; 1 without any.
    pub(crate) fn mean_of(&self, count: usize) -> f64 {
        let count = count.min(self.0.len());
        if count == 0 { 1.0 } else { self.0[..count].iter().sum::<f64>() / count as f64 }
    }

    /// Returns the variance of the series' mean, divided by that of the mean of independent values:
    /// the largest of the means of the first 8, 16 and 32 coefficients, because the number of them
    /// that a slow change reaches is not known.
    pub(crate) fn length(&self) -> f64 {
        [8, 16, 32].into_iter().map(|count| self.mean_of(count)).fold(1.0, f64::max)
    }

    /// Returns whether the sums of the first 2, 4, … coefficients each have a probability of at
    /// least `chance` for independent values. Only large sums count against independence.
    pub(crate) fn look_independent(&self, chance: f64) -> bool {
        [2, 4, 8, 16, 32].into_iter().filter(|count| *count <= self.0.len()).all(|count| {
            let sum: f64 = self.0[..count].iter().sum();
            ChiSquared::new(count as f64).is_ok_and(|chi_squared| chi_squared.sf(sum) >= chance)
        })
    }

    /// Returns whether the dependence is mostly at the lowest frequencies, so that values are alike
    /// for about as long as the series, or for a large part of it.
    pub(crate) fn are_lowest(&self) -> bool {
        let excess = |count| self.mean_of(count) - 1.0;
        excess(8) > MOST_AT_LOWEST * excess(32).max(0.05)
    }
}

/// Returns the means of consecutive values, `size` at a time.
pub(crate) fn reduced(series: &[f64], size: usize) -> Vec<f64> {
    series.chunks_exact(size).map(|chunk| chunk.iter().sum::<f64>() / size as f64).collect()
}

/// Returns the sum of the points' deviations from their mean, each times a cosine that has this
/// number of half waves from the first point to the last.
fn coefficient(points: &[f64], waves: usize) -> f64 {
    let (mean, _) = moments(points);
    let step = std::f64::consts::PI * waves as f64 / points.len() as f64;
    // The addition theorem gives each cosine from the two before it.
    let twice = 2.0 * step.cos();
    let (mut before, mut cosine) = ((-0.5 * step).cos(), (0.5 * step).cos());
    let mut sum = 0.0;
    for point in points {
        sum += (point - mean) * cosine;
        (before, cosine) = (cosine, twice * cosine - before);
    }
    sum
}

/// Largest number of coefficients. More of them show what neighbouring values show, too.
const MOST: usize = 32;
/// Least number of values for each coefficient.
const FEWEST_VALUES_EACH: usize = 4;
/// Largest number of points. More take longer and show nothing more of these frequencies.
const MOST_POINTS: usize = 4096;
/// Excess over independence of the first 8 coefficients, relative to that of the first 32, above
/// which dependence is at the lowest frequencies: the correlation is then longer than about a
/// fortieth of the series.
const MOST_AT_LOWEST: f64 = 2.5;

#[cfg(test)]
mod tests {
    use servemark_rng::NumpyRandom;

    use super::*;

    fn noise(count: usize, seed: u32) -> Vec<f64> {
        let mut random = NumpyRandom::seeded(seed);
        (0..count).map(|_| random.normal(0.0, 1.0)).collect()
    }

    #[test]
    fn coefficients_of_independent_values_are_1_on_average() {
        let means: Vec<f64> =
            (0..200).map(|seed| LowFrequencies::of(&noise(300, seed)).mean_of(32)).collect();
        let (mean, variance) = moments(&means);
        assert!((mean - 1.0).abs() < 0.06, "{mean}");
        // The mean of 32 of chi-squared has the variance 2/32.
        assert!((variance * 16.0 - 1.0).abs() < 0.3, "{variance}");
        let long: Vec<f64> =
            (0..40).map(|seed| LowFrequencies::of(&noise(20_000, seed)).mean_of(32)).collect();
        assert!((moments(&long).0 - 1.0).abs() < 0.12, "{long:?}");
    }

    #[test]
    fn a_wave_is_at_its_own_frequency() {
        let wave = |at: u32| (std::f64::consts::PI * 3.0 * (f64::from(at) + 0.5) / 1000.0).cos();
        let found = LowFrequencies::of(&(0..1000).map(wave).collect::<Vec<_>>());
        assert!((found.0[2] - 999.0).abs() < 1.0, "{}", found.0[2]);
        assert!(found.0.iter().enumerate().all(|(at, value)| at == 2 || *value < 1e-9));
        assert!(found.are_lowest() && !found.look_independent(0.001));
    }

    #[test]
    fn a_slow_change_under_noise_is_found() {
        // Half of the variance is the noise's, and neighbours correlate by less than a tenth.
        let found = (0..100).filter(|seed| {
            let values: Vec<f64> = noise(400, *seed)
                .iter()
                .zip(0..)
                .map(|(noise, at)| noise + 0.3 * (f64::from(at) / 40.0).sin().signum())
                .collect();
            !LowFrequencies::of(&values).look_independent(0.002)
        });
        assert!(found.count() > 90);
    }
}
