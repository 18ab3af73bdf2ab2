//! Computes how much larger a sample must be for an interval of a required width.

use crate::ranks::whole;
use crate::student::quantile;
use crate::{Bounds, Estimate};

/// Length and number of samples that are needed to know a number to a half width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Needed {
    /// Factor by which the sample must be longer; at most 1 if it is long enough.
    pub times: f64,
    /// Number of samples of this length that suffice instead, with one value from each. It is 1 if
    /// this sample suffices, and absent if the sample does not show its variance.
    pub samples: Option<u64>,
    /// Whether both numbers are lower bounds, because the sample is too short to show its own
    /// spread.
    pub is_rough: bool,
}

impl Estimate {
    /// Returns what is needed until an interval of this confidence reaches no farther than
    /// `half_width` on either side. Absent if no number of values would suffice, for example for a
    /// percentile that failed requests reach.
    ///
    /// A half width shrinks with the square root of the number of independent values, so the sample
    /// must be `(h / half_width)^2` times as long, where `h` is the wider side of its interval.
    /// Values of `k` whole samples are independent, and Student's t has `k - 1` degrees of freedom. Room
    /// for what none of the sample's requests met shrinks with the length itself.
    pub fn needed(&self, half_width: f64, confidence: f64) -> Option<Needed> {
        let (half, least, is_rough) = match self.bounds {
            Bounds::Known { low, high } => {
                let (below, above) = (self.value - low, high - self.value);
                // An upper end by the rule of three comes nearer with the number of requests.
                let is_by_rule = self.unseen > 0.0 && above <= self.unseen;
                let half = if is_by_rule { below } else { below.max(above) };
                (Some(half), self.unseen / half_width, false)
            }
            Bounds::TooShort { times, .. } => {
                let below = self.value - self.at_least;
                (Some(below).filter(|below| below.is_finite()), times, true)
            }
        };
        let by_width = half.map_or(0.0, |half| (half / half_width).powi(2));
        let times = by_width.max(least);
        let is_usable = times.is_finite() && self.value.is_finite() && half_width > 0.0;
        if !is_usable {
            return None;
        }
        let by_samples = || samples(self.error? / half_width, confidence);
        let samples = if times > 1.0 { by_samples() } else { Some(1) };
        Some(Needed { times, samples, is_rough })
    }
}

/// Returns the least number of values with a half width of at most one, if their standard deviation
/// is `deviation`.
fn samples(deviation: f64, confidence: f64) -> Option<u64> {
    let probability = 1.0 - (1.0 - confidence) / 2.0;
    // Quantiles fall towards this one, so no smaller number suffices.
    let least = (quantile(probability, MANY)? * deviation).powi(2).ceil().max(2.0);
    let is_enough = |count: f64| {
        Some(quantile(probability, (count - 1.0).min(MANY))? * deviation <= count.sqrt())
    };
    let mut count = least;
    while !is_enough(count)? {
        count += 1.0;
    }
    Some(whole(count) as u64)
}

/// Degrees of freedom beyond which Student's quantiles change by less than 0.02 %.
const MANY: f64 = 10_000.0;

#[cfg(test)]
mod tests {
    use servemark_rng::NumpyRandom;

    use super::*;
    use crate::{Observations, Reason};

    fn estimate(value: f64, half: f64, effective: f64) -> Estimate {
        let bounds = Bounds::Known { low: value - half, high: value + half };
        let error = Some(half / 1.96);
        let at_least = value - half;
        Estimate { value, bounds, at_least, error, unseen: 0.0, samples: 500, effective }
    }

    #[test]
    fn four_times_the_values_halve_the_width() {
        let needed = estimate(100.0, 4.0, 500.0).needed(2.0, 0.95).unwrap();
        assert_eq!((needed.times, needed.is_rough), (4.0, false));
        // For k runs, t(0.975, k - 1) 2.036 / sqrt(k) is 2.14 at k = 6 and 1.88 at 7.
        assert_eq!(needed.samples, Some(7));
        let enough = estimate(100.0, 1.5, 500.0).needed(2.0, 0.95).unwrap();
        assert!(enough.times <= 1.0 && enough.samples == Some(1));
    }

    #[test]
    fn a_sample_that_is_too_short_needs_at_least_as_much_as_it_takes_to_be_long_enough() {
        let bounds = Bounds::TooShort { times: 9.0, reason: Reason::Correlated };
        let short = Estimate { bounds, ..estimate(100.0, 4.0, 12.0) };
        let needed = short.needed(2.0, 0.95).unwrap();
        assert_eq!((needed.times, needed.is_rough), (9.0, true));
        let blind = Estimate { at_least: f64::NEG_INFINITY, error: None, ..short };
        let needed = blind.needed(2.0, 0.95).unwrap();
        assert_eq!((needed.times, needed.samples), (9.0, None));
    }

    #[test]
    fn room_for_what_was_not_met_shrinks_with_the_length() {
        let bounds = Bounds::Known { low: 99.0, high: 106.0 };
        let roomy = Estimate { bounds, unseen: 6.0, ..estimate(100.0, 1.0, 500.0) };
        assert_eq!(roomy.needed(2.0, 0.95).unwrap().times.to_bits(), 3f64.to_bits());
    }

    #[test]
    fn what_failures_reach_no_number_of_requests_makes_known() {
        let bounds = Bounds::Known { low: 1.0, high: f64::INFINITY };
        let failed = Estimate { bounds, ..estimate(100.0, 4.0, 500.0) };
        assert_eq!(failed.needed(2.0, 0.95), None);
    }

    #[test]
    fn as_many_values_as_were_planned_have_the_half_width_that_was_asked_for() {
        let mut random = NumpyRandom::seeded(7);
        let mut draw = |count: usize| -> Observations {
            (0..count).map(|_| random.normal(0.0, 0.5).exp()).collect()
        };
        let first = draw(500).mean(0.95);
        let half_width = 0.02 * first.value;
        let count = 500.0 * first.needed(half_width, 0.95).unwrap().times;
        let (low, high) = draw(whole(count)).mean(0.95).bounds.interval().unwrap();
        let share = (high - low) / 2.0 / half_width;
        assert!((0.9..1.1).contains(&share), "{share}");
    }
}
