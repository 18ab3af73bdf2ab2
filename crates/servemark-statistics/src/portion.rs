//! Portions of amounts, some of which count wholly and others not at all.

use crate::student::quantile;

/// A portion with its confidence interval. Neither is kept between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Portion {
    /// Sum of the parts over the sum of the wholes.
    pub value: f64,
    /// Lower end of the confidence interval.
    pub low: f64,
    /// Upper end of the confidence interval.
    pub high: f64,
}

/// Estimates the portion of amounts, `parts[i]` of `wholes[i]`, of independent items whose parts are
/// measured with errors. `None` for fewer than two items, or if the wholes sum up to nothing.
///
/// The number of items that count wholly is skewed where it is small, and so is that of the others.
/// So the interval has every portion that is compatible with the observed one by either of two
/// variances. One is the observed variance (Student's interval of the ratio). The other is the variance
/// of items that count wholly or not at all, which depends on the portion (Wilson's interval, 1927,
/// weighted by the wholes), unless the observed one is far smaller because items count in part.
///
/// ```
/// use servemark_statistics::portion;
///
/// // One of 40 items counts, and another one might have.
/// let parts: Vec<f64> = (0..40).map(|item| if item == 7 { 1.0 } else { 0.0 }).collect();
/// let one = portion(&parts, &[1.0; 40], 0.95).unwrap();
/// assert_eq!(one.value, 0.025);
/// assert!(one.low < 0.005 && one.high > 0.125);
/// ```
pub fn portion(parts: &[f64], wholes: &[f64], confidence: f64) -> Option<Portion> {
    let items = wholes.len() as f64;
    let degrees = items - 1.0;
    let whole: f64 = wholes.iter().sum();
    if degrees < 1.0 || whole <= 0.0 {
        return None;
    }
    let t = quantile(1.0 - (1.0 - confidence) / 2.0, degrees)?;
    let value = parts.iter().sum::<f64>() / whole;
    let residuals = parts.iter().zip(wholes).map(|(part, whole)| part - value * whole);
    let squares: f64 = residuals.map(|residual| residual.powi(2)).sum();
    let variance = squares * items / degrees / whole.powi(2);
    let half = t * variance.sqrt();
    let (low, high) = score_interval(value.clamp(0.0, 1.0), variance, t, weight(wholes, whole));
    Some(Portion { value, low: low.min(value - half), high: high.max(value + half) })
}

/// Returns the variance of a portion over `p (1 - p)` if items count wholly or not at all.
fn weight(wholes: &[f64], whole: f64) -> f64 {
    wholes.iter().map(|amount| amount.powi(2)).sum::<f64>() / whole.powi(2)
}

/// Returns the portions `p` with `(p - value)^2 = t^2 (part weight p (1 - p) + noise)`, where the
/// parenthesis is the observed variance at the observed value.
fn score_interval(value: f64, variance: f64, t: f64, weight: f64) -> (f64, f64) {
    let all_or_nothing = weight * value * (1.0 - value);
    // The few items that count may happen to be small, and seem to be a part of many items.
    let is_partial = DOUBT * variance < all_or_nothing;
    let part = if is_partial { DOUBT * variance / all_or_nothing } else { 1.0 };
    let noise = (variance - all_or_nothing).max(0.0);
    let spread = t * t * part * weight;
    let middle = 2.0 * value + spread;
    let width =
        spread * (spread + 4.0 * value * (1.0 - value)) + 4.0 * t * t * noise * (1.0 + spread);
    let end = |sign: f64| (middle + sign * width.sqrt()) / (2.0 * (1.0 + spread));
    (end(-1.0), end(1.0))
}

/// Factor by which the variance may be larger than observed.
const DOUBT: f64 = 3.0;

#[cfg(test)]
mod tests {
    use servemark_rng::Pcg64;

    use super::*;

    /// The first `count` of 40 items count, each as 1.
    fn portion_of(count: usize) -> Portion {
        let parts: Vec<f64> = (0..40).map(|item| if item < count { 1.0 } else { 0.0 }).collect();
        portion(&parts, &[1.0; 40], 0.95).unwrap()
    }

    #[test]
    fn the_ends_are_mirrored_and_reach_beyond_students() {
        for (count, low, high) in [(0, 0.0, 0.0928), (4, 0.0028, 0.2368), (20, 0.3381, 0.6619)] {
            let (one, other) = (portion_of(count), portion_of(40 - count));
            assert!((one.low - low).abs() < 1e-4 && (one.high - high).abs() < 1e-4, "{one:?}");
            assert!((one.low + other.high - 1.0).abs() < 1e-9, "{one:?} {other:?}");
        }
    }

    #[test]
    fn parts_that_are_alike_are_known_well() {
        let wholes: Vec<f64> = (0..40).map(|item| f64::from(item) + 10.0).collect();
        let parts: Vec<f64> = wholes.iter().map(|whole| 0.5 * whole).collect();
        let half = portion(&parts, &wholes, 0.95).unwrap();
        assert!((half.value - 0.5).abs() < 1e-9 && half.high - half.low < 1e-6, "{half:?}");
    }

    #[test]
    fn there_is_none_of_nothing() {
        assert_eq!(portion(&[], &[], 0.95), None);
        assert_eq!(portion(&[1.0], &[1.0], 0.95), None);
        assert_eq!(portion(&[1.0, 1.0], &[0.0, 0.0], 0.95), None);
    }

    #[test]
    fn intervals_miss_the_truth_in_at_most_a_twentieth_of_samples() {
        let mut random = Pcg64::seeded(1);
        for truth in [0.02, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95] {
            let missed = (0..1000).filter(|_| {
                let wholes: Vec<f64> = (0..40).map(|_| 1.0 + 9.0 * random.random()).collect();
                let mut part = |whole: &f64| {
                    let error = 0.5 * (random.random() - 0.5);
                    if random.random() < truth { whole + error } else { error }
                };
                let parts: Vec<f64> = wholes.iter().map(&mut part).collect();
                let portion = portion(&parts, &wholes, 0.95).unwrap();
                !(portion.low..=portion.high).contains(&truth)
            });
            let missed = missed.count();
            assert!(missed <= 50, "{missed} of 1000 miss {truth}");
        }
    }
}
