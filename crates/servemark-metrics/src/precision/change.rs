//! Precision of the change of a figure from one server to another.

use std::fmt;

use serde::Serialize;
use servemark_statistics::{change_of_pairs, confidence_of_look};

use super::{HalfWidth, Precision};
use crate::ChangeInterval;

/// Precision of the change of a figure from A to B, from pairs of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChangeKnown {
    /// Required precision: of the relative change in percent of A, or of the difference itself.
    pub target: Precision,
    /// Whether the change is known with the required precision.
    pub is_known: bool,
    /// Change from A to B in percent of A; absent without an interval.
    pub percent: Option<f64>,
    /// Lower end of the interval; absent if there are too few pairs.
    pub low_percent: Option<f64>,
    /// Upper end of the interval; absent if there are too few pairs.
    pub high_percent: Option<f64>,
    /// Confidence of this interval, from 0 to 1. The confidence of all looks together is smaller.
    pub confidence: f64,
    /// Number of pairs.
    pub rounds: usize,
}

impl ChangeKnown {
    /// Evaluates pairs of runs, `most` of which there can be. They are looked at after each pair
    /// from the second on, and all looks together have `confidence`.
    pub fn of_pairs(
        target: Precision,
        before: &[f64],
        after: &[f64],
        most: usize,
        confidence: f64,
    ) -> Self {
        let rounds = before.len().min(after.len());
        let (before, after) = (&before[..rounds], &after[..rounds]);
        let looks = most.max(2) - 1;
        let confidence = confidence_of_look(rounds.saturating_sub(1).max(1), looks, confidence);
        let interval = change_of_pairs(before, after, confidence);
        let middle = interval.map(|(low, high)| f64::midpoint(low, high).exp_m1() * 100.0);
        let ends = interval.map(|logs| {
            let ChangeInterval { low_percent, high_percent } = ChangeInterval::of_logs(logs);
            (low_percent, high_percent)
        });
        let mean = before.iter().sum::<f64>() / rounds.max(1) as f64;
        let most_percent = match target.within {
            HalfWidth::Share(share) => share * 100.0,
            HalfWidth::Milliseconds(most) => most / mean * 100.0,
        };
        let is_narrow = |((low, high), middle): ((f64, f64), f64)| {
            (middle - low).max(high - middle) <= most_percent
        };
        Self {
            target,
            is_known: ends.zip(middle).is_some_and(is_narrow),
            percent: middle,
            low_percent: ends.map(|(low, _)| low),
            high_percent: ends.map(|(_, high)| high),
            confidence,
            rounds,
        }
    }
}

/// Displays the result as `ttft:p50+-2% is known: from A to B +3.1 % [+1.6, +4.7], by 6 rounds`.
impl fmt::Display for ChangeKnown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.is_known { "known" } else { "undecided" };
        write!(f, "{} is {word}: ", self.target)?;
        match (self.percent, self.low_percent, self.high_percent) {
            (Some(percent), Some(low_percent), Some(high_percent)) => {
                let interval = ChangeInterval { low_percent, high_percent };
                write!(f, "from A to B {percent:+.1} % {interval}, by {} rounds", self.rounds)
            }
            _ => write!(f, "{} rounds do not show it", self.rounds),
        }
    }
}

#[cfg(test)]
mod tests {
    use servemark_rng::NumpyRandom;

    use super::*;

    fn estimate(before: &[f64], after: &[f64], most: usize) -> ChangeKnown {
        ChangeKnown::of_pairs("ttft:p50+-2%".parse().unwrap(), before, after, most, 0.95)
    }

    #[test]
    fn a_change_is_known_when_its_interval_is_narrow() {
        let before = [100.0, 120.0, 90.0, 110.0, 105.0];
        let after: Vec<f64> =
            before.iter().zip([1.101, 1.099, 1.1, 1.1, 1.1]).map(|(a, b)| a * b).collect();
        let found = estimate(&before, &after, 5);
        assert!(found.is_known, "{found}");
        let percent = found.percent.unwrap();
        assert!((percent - 10.0).abs() < 0.2, "{percent}");
        assert!(!estimate(&before[..1], &after[..1], 5).is_known);
        let wild: Vec<f64> = before.iter().rev().copied().collect();
        let found = estimate(&before, &wild, 5);
        assert!(!found.is_known && found.to_string().contains("is undecided: from A to B"));
    }

    #[test]
    fn an_interval_without_an_end_is_told_as_such() {
        let found = estimate(&[100.0, 120.0], &[110.0, 95.0], 20).to_string();
        assert!(found.contains(" % [-100.0, any], by 2 rounds"), "{found}");
    }

    #[test]
    fn no_difference_is_seldom_missed_by_any_look_that_ends_the_rounds() {
        let mut random = NumpyRandom::seeded(11);
        let (mut ended, mut missed) = (0, 0);
        for _ in 0..600 {
            let mut draw = || -> Vec<f64> {
                (0..12).map(|_| 100.0 * random.normal(0.0, 0.01).exp()).collect()
            };
            let (before, after) = (draw(), draw());
            let first = (2..=12)
                .map(|rounds| estimate(&before[..rounds], &after[..rounds], 12))
                .find(|found| found.is_known);
            if let Some(found) = first {
                ended += 1;
                let (low, high) = (found.low_percent.unwrap(), found.high_percent.unwrap());
                missed += u32::from(!(low..=high).contains(&0.0));
            }
        }
        assert!(ended > 500, "{ended}");
        assert!(missed <= 30, "{missed} of {ended}");
    }
}
