//! Search for the best whole number, for scores with one peak.

use super::SearchRange;

/// Looks for the largest score among whole numbers. It assumes that scores rise to one peak and
/// fall after it, and that every value below one with a score has a score.
///
/// A value without a score is one that failed. To find the smallest score, pass its negative. The
/// neighbours of the start give the direction, a plateau is followed to both sides, steps are
/// doubled until the score gets worse, and the interval of the last two steps is bisected by
/// comparing two neighbours at a time. The result is the best of all values that were asked for;
/// the caller records them, because this function only asks. A value may be asked for several
/// times.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::convert::Infallible;
///
/// use servemark_plan::{Grain, SearchRange, peak};
///
/// let range = SearchRange::new(4.0, 1.0, 100.0, Grain::Whole)?;
/// let mut scores = BTreeMap::new();
/// let Ok(()) = peak(&range, |value| {
///     let score = -(value - 37.0).powi(2);
///     scores.insert(value as u32, score);
///     Ok::<_, Infallible>(Some(score))
/// });
/// let best = scores.iter().max_by(|one, other| one.1.total_cmp(other.1));
/// assert_eq!(best.map(|(value, _)| *value), Some(37));
/// assert!(scores.len() < 25);
/// # Ok::<(), servemark_plan::SearchError>(())
/// ```
pub fn peak<E>(
    range: &SearchRange,
    score: impl FnMut(f64) -> Result<Option<f64>, E>,
) -> Result<(), E> {
    let mut search = PeakSearch { range, score };
    let bracket = match search.score(range.start)? {
        Some(level) => Some(search.ascent(level)?),
        None => search.prefix()?,
    };
    match bracket {
        Some((left, right)) => search.halve(left, right),
        None => Ok(()),
    }
}

/// State of a peak search: the range, and the function that scores a value.
struct PeakSearch<'a, F> {
    range: &'a SearchRange,
    score: F,
}

impl<E, F: FnMut(f64) -> Result<Option<f64>, E>> PeakSearch<'_, F> {
    fn score(&mut self, value: f64) -> Result<Option<f64>, E> {
        (self.score)(value)
    }

    /// Returns the first and last value with a score from the lower bound on, where the start has
    /// none.
    fn prefix(&mut self) -> Result<Option<(f64, f64)>, E> {
        let lower = self.range.lower;
        if self.score(lower)?.is_none() {
            return Ok(None);
        }
        let (mut left, mut right) = (lower, self.range.start - 1.0);
        while left < right {
            let middle = ((left + right + 1.0) / 2.0).floor();
            if self.score(middle)?.is_some() {
                left = middle;
            } else {
                right = middle - 1.0;
            }
        }
        Ok(Some((lower, left)))
    }

    /// Returns an interval that contains the peak, from a start with a score.
    fn ascent(&mut self, level: f64) -> Result<(f64, f64), E> {
        let start = self.range.start;
        match self.direction(level)? {
            Some(direction) => self.stride(direction),
            None => Ok((start, start)),
        }
    }

    fn direction(&mut self, level: f64) -> Result<Option<f64>, E> {
        let start = self.range.start;
        let below = self.within(start - 1.0)?;
        let above = self.within(start + 1.0)?;
        if below > Some(level) {
            return Ok(Some(-1.0));
        }
        if above > Some(level) {
            return Ok(Some(1.0));
        }
        let (left, right) = self.plateau(start, level, self.range.lower, self.range.upper)?;
        if self.within(left - 1.0)? > Some(level) {
            return Ok(Some(-1.0));
        }
        Ok((self.within(right + 1.0)? > Some(level)).then_some(1.0))
    }

    /// Returns the score of a value, if it has one and lies within the bounds.
    fn within(&mut self, value: f64) -> Result<Option<f64>, E> {
        let is_within = (self.range.lower..=self.range.upper).contains(&value);
        if is_within { self.score(value) } else { Ok(None) }
    }

    /// Returns the first and last value around `at` with exactly the same score.
    fn plateau(&mut self, at: f64, level: f64, low: f64, high: f64) -> Result<(f64, f64), E> {
        let (mut left, mut right) = (at, at);
        while left > low && self.score(left - 1.0)? == Some(level) {
            left -= 1.0;
        }
        while right < high && self.score(right + 1.0)? == Some(level) {
            right += 1.0;
        }
        Ok((left, right))
    }

    /// Takes steps twice as long each time, until the score gets worse or a bound is reached.
    fn stride(&mut self, direction: f64) -> Result<(f64, f64), E> {
        let (mut previous, mut step) = (self.range.start, direction);
        let mut current = previous + step;
        loop {
            let next = current + step;
            if !(self.range.lower..=self.range.upper).contains(&next) {
                return self.edge(previous, direction);
            }
            let (here, there) = (self.score(current)?, self.score(next)?);
            if there < here || there.is_none() || self.hides_a_peak(previous, next, here, there)? {
                return Ok(in_order(previous, next));
            }
            (previous, current, step) = (current, next, step * 2.0);
        }
    }

    /// Returns the interval up to the bound, if the bound is nearer than the next step.
    fn edge(&mut self, previous: f64, direction: f64) -> Result<(f64, f64), E> {
        let edge = if direction > 0.0 { self.range.upper } else { self.range.lower };
        self.score(edge)?;
        Ok(in_order(previous, edge))
    }

    /// Returns whether two equal scores have a better one between them.
    fn hides_a_peak(
        &mut self,
        previous: f64,
        next: f64,
        here: Option<f64>,
        there: Option<f64>,
    ) -> Result<bool, E> {
        let (mut value, end) = in_order(previous, next);
        while here == there && value + 1.0 < end {
            value += 1.0;
            if self.score(value)? > there {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn halve(&mut self, mut left: f64, mut right: f64) -> Result<(), E> {
        while left < right {
            let middle = f64::midpoint(left, right).floor();
            let (here, there) = (self.score(middle)?, self.score(middle + 1.0)?);
            match here {
                Some(level) if here == there => {
                    let (low, high) = self.plateau(middle, level, left, right)?;
                    if low > left && self.score(low - 1.0)? > here {
                        right = low - 1.0;
                    } else if high < right && self.score(high + 1.0)? > here {
                        left = high + 1.0;
                    } else {
                        return Ok(());
                    }
                }
                _ if there > here => left = middle + 1.0,
                _ => right = middle,
            }
        }
        Ok(())
    }
}

fn in_order(one: f64, other: f64) -> (f64, f64) {
    (one.min(other), one.max(other))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::super::Grain;
    use super::*;

    /// Returns the best value that is asked for, the smallest of several, and the number of values
    /// asked for.
    fn best(start: f64, upper: f64, score: impl Fn(f64) -> Option<f64>) -> (Option<u32>, usize) {
        let range = SearchRange::new(start, 1.0, upper, Grain::Whole).unwrap();
        let mut scores = BTreeMap::new();
        let Ok(()) = peak(&range, |value| {
            let score = score(value);
            scores.insert(whole(value), score);
            Ok::<_, Infallible>(score)
        });
        let known = scores.iter().filter_map(|(value, score)| Some((*value, (*score)?)));
        let best = known.reduce(|best, next| if next.1 > best.1 { next } else { best });
        (best.map(|(value, _)| value), scores.len())
    }

    #[expect(clippy::cast_sign_loss, reason = "the values of these searches are above zero")]
    fn whole(value: f64) -> u32 {
        value as u32
    }

    #[test]
    fn a_start_that_failed_leaves_what_is_below() {
        let alive = |value: f64| (value <= 9.0).then_some(value);
        assert_eq!(best(40.0, 100.0, alive).0, Some(9));
        assert_eq!(best(40.0, 100.0, |_| None), (None, 2));
    }

    #[test]
    fn plateaus_are_walked_over() {
        let steps = |value: f64| Some((-(value - 20.0).abs() / 4.0).round());
        assert_eq!(best(19.0, 60.0, steps).0, Some(19));
        let far = |value: f64| Some(if value < 12.0 { 1.0 } else { -(value - 30.0).abs() + 40.0 });
        assert_eq!(best(5.0, 60.0, far).0, Some(30));
    }

    proptest! {
        #[test]
        fn one_peak_is_found(top in 1u32..300, start in 1u32..300, upper in 1u32..300) {
            // All scores differ: between two equal ones the search would try every value.
            let score = |value: f64| Some(-(value - f64::from(top) - 0.3).powi(2));
            let (found, requested) = best(start.into(), upper.into(), score);
            prop_assert_eq!(found, Some(top.min(upper)));
            prop_assert!(requested < 40, "{} values", requested);
        }
    }
}
