//! Search for the largest value that holds, by doubling and bisection.

use super::SearchRange;

/// Bounds of the largest value that holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bracket {
    /// Largest value that holds; absent if not even the lower bound does.
    pub holds: Option<f64>,
    /// Smallest value that fails; absent if the upper bound holds.
    pub fails: Option<f64>,
}

/// Finds the largest value of a range that holds, assuming that all smaller ones hold too.
///
/// From the start on, values are doubled while they hold, or halved until one does; then the
/// interval between the largest that holds and the smallest that fails is bisected. No value is
/// asked for twice in one call. `holds` may run a probe, or return an error that names the value
/// that it does not know yet.
///
/// ```
/// use std::convert::Infallible;
///
/// use servemark_plan::{Grain, SearchRange, largest};
///
/// let range = SearchRange::new(10.0, 1.0, 1000.0, Grain::Whole)?;
/// let mut tried = Vec::new();
/// let found = largest(&range, |value| {
///     tried.push(value);
///     Ok::<_, Infallible>(value <= 53.0)
/// });
/// let Ok(found) = found;
/// assert_eq!((found.holds, found.fails), (Some(53.0), Some(54.0)));
/// assert_eq!(tried, [10.0, 20.0, 40.0, 80.0, 60.0, 50.0, 55.0, 52.0, 53.0, 54.0]);
/// # Ok::<(), servemark_plan::SearchError>(())
/// ```
pub fn largest<E>(
    range: &SearchRange,
    mut holds: impl FnMut(f64) -> Result<bool, E>,
) -> Result<Bracket, E> {
    let mut bracket = Bracket::default();
    let mut next = Some(range.start);
    while let Some(value) = next {
        bracket.note(value, holds(value)?);
        next = bracket.next(range);
    }
    Ok(bracket)
}

impl Bracket {
    /// Records a value that holds or fails.
    pub fn note(&mut self, value: f64, holds: bool) {
        if holds {
            self.holds = self.holds.map_or(Some(value), |known| Some(known.max(value)));
        } else {
            self.fails = self.fails.map_or(Some(value), |known| Some(known.min(value)));
        }
    }

    fn next(&self, range: &SearchRange) -> Option<f64> {
        match (self.holds, self.fails) {
            (None, None) => Some(range.start),
            (Some(holds), None) => (holds < range.upper).then(|| range.doubled(holds)),
            (None, Some(fails)) => (fails > range.lower).then(|| range.halved(fails)),
            (Some(holds), Some(fails)) => range.between(holds, fails),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::super::Grain;
    use super::*;

    fn find(range: &SearchRange, capacity: f64) -> (Bracket, Vec<f64>) {
        let mut tried = Vec::new();
        let Ok(bracket) = largest(range, |value| {
            tried.push(value);
            Ok::<_, Infallible>(value <= capacity)
        });
        (bracket, tried)
    }

    #[test]
    fn bounds_that_hold_or_fail_end_a_search() {
        let range = SearchRange::new(8.0, 2.0, 50.0, Grain::Whole).unwrap();
        let (all, tried) = find(&range, 1000.0);
        assert_eq!((all.holds, all.fails), (Some(50.0), None));
        assert_eq!(tried, [8.0, 16.0, 32.0, 50.0]);
        let (none, tried) = find(&range, 1.0);
        assert_eq!((none.holds, none.fails), (None, Some(2.0)));
        assert_eq!(tried, [8.0, 4.0, 2.0]);
    }

    #[test]
    fn an_error_ends_a_search_at_the_value_that_it_is_about() {
        let range = SearchRange::new(8.0, 1.0, 64.0, Grain::Whole).unwrap();
        let known = |value: f64| if value < 32.0 { Ok(true) } else { Err(value) };
        assert_eq!(largest(&range, known), Err(32.0));
    }

    proptest! {
        #[test]
        fn a_capacity_is_found_to_the_precision(
            capacity in 0.5f64..5000.0,
            start in 1.0f64..500.0,
            share in 0.01f64..0.2,
        ) {
            let range = SearchRange::new(start, 1.0, 4096.0, Grain::Share(share)).unwrap();
            let (Bracket { holds, fails }, tried) = find(&range, capacity);
            prop_assert!(holds.is_none_or(|holds| holds <= capacity));
            prop_assert!(fails.is_none_or(|fails| fails > capacity));
            match (holds, fails) {
                (Some(holds), Some(fails)) => prop_assert!(fails <= holds * (1.0 + share)),
                (Some(holds), None) => prop_assert!(holds >= 4096.0),
                (None, Some(fails)) => prop_assert!(fails <= 1.0),
                (None, None) => prop_assert!(false),
            }
            let mut distinct = tried.clone();
            distinct.sort_by(f64::total_cmp);
            distinct.dedup();
            prop_assert_eq!(distinct.len(), tried.len());
        }

        #[test]
        fn whole_numbers_are_found_exactly(capacity in 1u32..5000, start in 1u32..500) {
            let range = SearchRange::new(start.into(), 1.0, 4096.0, Grain::Whole).unwrap();
            let (bracket, _) = find(&range, capacity.into());
            prop_assert_eq!(bracket.holds, Some(f64::from(capacity.min(4096))));
        }
    }
}
