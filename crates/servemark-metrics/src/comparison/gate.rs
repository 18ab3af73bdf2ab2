//! Conditions on a comparison that make a pipeline fail.

use std::fmt;
use std::str::FromStr;

use super::{Change, Comparison, Significance};
use crate::{Figure, MetricsError};

/// A condition on a change. Its text form is `ttft:p99>+5%`, `request_throughput<-3%` or
/// `e2el:mean>2000`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Condition {
    /// Figure that the condition checks.
    pub figure: Figure,
    /// Bound that the figure must not cross.
    pub bound: Bound,
    text: String,
}

/// Bound that a figure must not cross. A percentage limits the change; a number without a percent
/// sign limits the value after the change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// The figure must not rise by more than this percentage.
    RoseBy(f64),
    /// The figure must not change by less than this percentage, which is below zero for a fall.
    FellBy(f64),
    /// The figure must not be above this value after the change.
    Above(f64),
    /// The figure must not be below this value after the change.
    Below(f64),
}

/// A condition that makes a comparison fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Broken<'a> {
    /// The condition is met by this change.
    Held(&'a Condition, &'a Change),
    /// The condition cannot be checked, because one side lacks the figure.
    Unchecked(&'a Condition),
}

impl Broken<'_> {
    /// Returns whether chance alone explains the change.
    pub fn is_noise(&self) -> bool {
        matches!(self, Self::Held(_, change) if change.significance() == Significance::Same)
    }
}

impl Condition {
    pub(super) fn broken_by<'a>(&'a self, comparison: &'a Comparison) -> Option<Broken<'a>> {
        let Some(change) = comparison.change_of(self.figure) else {
            return Some(Broken::Unchecked(self));
        };
        let holds = match self.bound {
            Bound::RoseBy(percent) => change.percent() > percent,
            Bound::FellBy(percent) => change.percent() < percent,
            Bound::Above(value) => change.after > value,
            Bound::Below(value) => change.after < value,
        };
        holds.then_some(Broken::Held(self, change))
    }
}

impl FromStr for Condition {
    type Err = MetricsError;

    fn from_str(text: &str) -> Result<Self, MetricsError> {
        let malformed = || MetricsError::Condition { given: text.to_owned() };
        let place = text.find(['<', '>']).ok_or_else(malformed)?;
        let (figure, rest) = text.split_at(place);
        let figure: Figure = figure.trim().parse()?;
        let (is_above, limit) = (rest.starts_with('>'), rest[1..].trim());
        let (limit, is_percent) = match limit.strip_suffix('%') {
            Some(percent) => (percent, true),
            None => (limit, false),
        };
        let limit: f64 = limit.trim().parse().map_err(|_| malformed())?;
        let bound = match (is_above, is_percent) {
            _ if !limit.is_finite() => return Err(malformed()),
            (true, true) => Bound::RoseBy(limit),
            (false, true) => Bound::FellBy(limit),
            (true, false) => Bound::Above(limit),
            (false, false) => Bound::Below(limit),
        };
        Ok(Self { figure, bound, text: text.to_owned() })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Broken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (condition, change) = match self {
            Self::Unchecked(condition) => {
                return write!(f, "{condition}: one of the two lacks {}", condition.figure.key());
            }
            Self::Held(condition, change) => (condition, change),
        };
        let Change { figure, before, after, .. } = change;
        write!(f, "{condition}: {figure} went from {before:.2} to {after:.2}")?;
        write!(f, " ({:+.1} %)", change.percent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(before: f64, after: f64) -> Comparison {
        let figure: Figure = "ttft:p99".parse().unwrap();
        Comparison::of(&[figure], |_| Some(before), |_| Some(after))
    }

    #[track_caller]
    fn breaks(condition: &str, before: f64, after: f64) -> bool {
        let conditions = [condition.parse().unwrap()];
        comparison(before, after).broken(&conditions).next().is_some()
    }

    #[test]
    fn a_percentage_is_of_the_change_and_a_number_of_what_came_after() {
        assert!(breaks("ttft:p99>+5%", 100.0, 105.1));
        assert!(!breaks("ttft:p99>+5%", 100.0, 105.0));
        assert!(!breaks("ttft:p99>+5%", 100.0, 50.0));
        assert!(breaks("ttft:p99 < -3 %", 100.0, 96.0));
        assert!(!breaks("p99_ttft_ms<-3%", 100.0, 98.0));
        assert!(breaks("p99_ttft_ms>500", 600.0, 501.0));
        assert!(breaks("p99_ttft_ms<500", 600.0, 499.0));
        assert!(breaks("ttft:p99>5%", 0.0, 1.0));
    }

    #[test]
    fn a_number_that_is_missing_cannot_be_passed_over() {
        let conditions = ["itl:mean>1%".parse().unwrap()];
        let comparison = comparison(1.0, 1.0);
        let broken: Vec<_> = comparison.broken(&conditions).collect();
        assert_eq!(broken, [Broken::Unchecked(&conditions[0])]);
        assert_eq!(broken[0].to_string(), "itl:mean>1%: one of the two lacks mean_itl_ms");
    }

    #[test]
    fn a_broken_condition_says_what_happened() {
        let conditions = ["ttft:p99>+5%".parse().unwrap()];
        let comparison = comparison(100.0, 120.0);
        let broken = comparison.broken(&conditions).next().unwrap();
        let message = "ttft:p99>+5%: P99 TTFT (ms) went from 100.00 to 120.00 (+20.0 %)";
        assert_eq!(broken.to_string(), message);
    }

    #[test]
    fn a_wrong_condition_is_told_what_is_expected() {
        for wrong in ["ttft:p99", "ttft:p99>", "ttft:p99>soon", "ttft:p99>nan%", ""] {
            let error = wrong.parse::<Condition>().unwrap_err().to_string();
            assert!(error.contains("expected METRIC"), "{wrong}: {error}");
        }
        let error = "speed>5%".parse::<Condition>().unwrap_err().to_string();
        assert!(error.contains("\"speed\""), "{error}");
    }
}
