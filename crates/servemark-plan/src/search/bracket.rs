//! Search for the largest load that holds, where some loads stay undecided.

use super::SearchRange;

/// Verdict on a load. The enum is closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LoadOutcome {
    /// The load holds.
    Holds,
    /// The effort allowed for a load does not suffice to decide.
    Undecided,
    /// The load fails.
    Fails,
    /// The load cannot be offered, so larger ones cannot either. It shows nothing about the server.
    NotOffered,
}

/// Bounds of a capacity in three parts: loads up to `holds` hold, loads between the two ends of
/// `undecided` are undecided, and loads from `fails` on fail.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadBracket {
    /// Largest load that holds.
    pub holds: Option<f64>,
    /// Smallest and largest undecided load above `holds` and below `fails`.
    pub undecided: Option<(f64, f64)>,
    /// Smallest load that fails.
    pub fails: Option<f64>,
    /// Smallest load that could not be offered.
    pub not_offered: Option<f64>,
}

impl LoadBracket {
    /// Searches a range for the largest load that holds.
    ///
    /// From the start on, loads are doubled while they do not fail, or halved until one holds. Then
    /// the interval between them is bisected. An undecided load splits it in two, and the search
    /// goes on below and above that load until each part is at most a quarter of the whole: the
    /// effort allowed for a load does not support a finer answer.
    ///
    /// `verdict` returns the verdict on a load, or an error if it is not known yet; the search is
    /// then run again and continues past that load.
    ///
    /// ```
    /// use servemark_plan::{Grain, LoadBracket, LoadOutcome, SearchRange};
    ///
    /// let range = SearchRange::new(10.0, 1.0, 1000.0, Grain::Share(0.02))?;
    /// let Ok::<_, std::convert::Infallible>(found) = LoadBracket::find(&range, |load| {
    ///     Ok(match load {
    ///         ..48.0 => LoadOutcome::Holds,
    ///         ..56.0 => LoadOutcome::Undecided,
    ///         _ => LoadOutcome::Fails,
    ///     })
    /// });
    /// assert_eq!((found.holds, found.undecided), (Some(47.5), Some((50.0, 55.0))));
    /// assert_eq!(found.fails, Some(57.5));
    /// # Ok::<(), servemark_plan::SearchError>(())
    /// ```
    pub fn find<E>(
        range: &SearchRange,
        mut verdict: impl FnMut(f64) -> Result<LoadOutcome, E>,
    ) -> Result<Self, E> {
        let mut known = Vec::new();
        let mut bracket = Self::default();
        let mut next = Some(range.start);
        while let Some(load) = next {
            known.push((load, verdict(load)?));
            bracket = Self::of(&known);
            next = bracket.next(range);
        }
        Ok(bracket)
    }

    /// Combines the verdicts on some loads. A load that holds above one that fails, and an
    /// undecided load below one that holds, contradict the others by chance and are left out.
    pub fn of(known: &[(f64, LoadOutcome)]) -> Self {
        let loads = |wanted| {
            known.iter().filter(move |(_, verdict)| *verdict == wanted).map(|(load, _)| *load)
        };
        let fails = loads(LoadOutcome::Fails).reduce(f64::min);
        let not_offered = loads(LoadOutcome::NotOffered).reduce(f64::min);
        let is_below =
            |load: &f64| [fails, not_offered].into_iter().flatten().all(|end| *load < end);
        let holds = loads(LoadOutcome::Holds).filter(is_below).reduce(f64::max);
        let is_between = |load: &f64| is_below(load) && holds.is_none_or(|holds| holds < *load);
        let undecided = || loads(LoadOutcome::Undecided).filter(is_between);
        let undecided = undecided().reduce(f64::min).zip(undecided().reduce(f64::max));
        Self { holds, undecided, fails, not_offered }
    }

    /// Returns the smallest load above which nothing is tried.
    fn stop(&self) -> Option<f64> {
        let ends = [self.fails, self.not_offered];
        ends.into_iter().flatten().reduce(f64::min)
    }

    fn next(&self, range: &SearchRange) -> Option<f64> {
        let stop = self.stop();
        let Some(holds) = self.holds else {
            let lowest = self.undecided.map(|(low, _)| low).or(stop)?;
            return (lowest > range.lower).then(|| range.halved(lowest));
        };
        let Some(stop) = stop else {
            let highest = self.undecided.map_or(holds, |(_, high)| high.max(holds));
            return (highest < range.upper).then(|| range.doubled(highest));
        };
        let Some((low, high)) = self.undecided else { return range.between(holds, stop) };
        let mut parts = [(holds, low), (high, stop)];
        parts.sort_by(|one, other| (other.1 - other.0).total_cmp(&(one.1 - one.0)));
        let enough = (stop - holds) * ENOUGH;
        let mut open = parts.into_iter().filter(|(low, high)| high - low > enough);
        open.find_map(|(low, high)| range.between(low, high))
    }
}

/// Share of the bracket at which a part beside undecided loads is no longer searched.
const ENOUGH: f64 = 0.25;

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::super::Grain;
    use super::*;

    fn find(range: &SearchRange, of: impl Fn(f64) -> LoadOutcome) -> (LoadBracket, Vec<f64>) {
        let mut tried = Vec::new();
        let Ok::<_, Infallible>(found) = LoadBracket::find(range, |load| {
            tried.push(load);
            Ok(of(load))
        });
        (found, tried)
    }

    #[test]
    fn a_load_that_cannot_be_offered_ends_the_way_up_and_does_not_fail() {
        let range = SearchRange::new(8.0, 1.0, 1000.0, Grain::Whole).unwrap();
        let (found, tried) =
            find(
                &range,
                |load| {
                    if load <= 20.0 { LoadOutcome::Holds } else { LoadOutcome::NotOffered }
                },
            );
        assert_eq!((found.holds, found.fails, found.not_offered), (Some(20.0), None, Some(21.0)));
        assert!(tried.iter().all(|load| *load <= 32.0), "{tried:?}");
    }

    #[test]
    fn where_nothing_can_be_told_the_bounds_end_the_search() {
        let range = SearchRange::new(8.0, 2.0, 64.0, Grain::Whole).unwrap();
        let (found, tried) = find(&range, |_| LoadOutcome::Undecided);
        assert_eq!((found.holds, found.undecided, found.fails), (None, Some((2.0, 8.0)), None));
        assert_eq!(tried, [8.0, 4.0, 2.0]);
    }

    #[test]
    fn loads_that_contradict_the_rest_do_not_keep_a_search_from_its_end() {
        let range = SearchRange::new(8.0, 1.0, 64.0, Grain::Whole).unwrap();
        // 8 and 28 are undecided, although 16, 24 and 30 hold.
        let (found, _) = find(&range, |load| match load {
            8.0 | 28.0 => LoadOutcome::Undecided,
            ..=30.0 => LoadOutcome::Holds,
            _ => LoadOutcome::Fails,
        });
        assert_eq!((found.holds, found.undecided, found.fails), (Some(30.0), None, Some(31.0)));
    }

    proptest! {
        #[test]
        fn the_undecided_part_is_enclosed(
            capacity in 2.0f64..500.0,
            width in 0.0f64..0.5,
            start in 1.0f64..500.0,
        ) {
            let range = SearchRange::new(start, 0.1, 4096.0, Grain::Share(0.02)).unwrap();
            let (low, high) = (capacity * (1.0 - width / 2.0), capacity * (1.0 + width / 2.0));
            let (bracket, tried) = find(&range, |load| match load {
                load if load < low => LoadOutcome::Holds,
                load if load < high => LoadOutcome::Undecided,
                _ => LoadOutcome::Fails,
            });
            let (holds, fails) = (bracket.holds.unwrap(), bracket.fails.unwrap());
            prop_assert!(holds < low && high <= fails);
            // Twice the undecided part, plus the precision at either end.
            let most = 2.0 * (high - low) + 2.1 * 0.02 * fails;
            prop_assert!(fails - holds <= most, "{bracket:?} for {low} to {high}");
            prop_assert!(tried.len() <= 40, "{}", tried.len());
        }
    }
}
