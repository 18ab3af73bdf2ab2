//! Hands places of a concurrency limit from ranks that do not use them to ranks that need them.

use crate::message::PlaceReport;

/// Decides how many places each rank is to have. `current` has the last decision and what each rank
/// last reported.
///
/// A rank takes more places at once, but can give up only free ones. So a place counts as taken
/// until the report of its rank says that it was given up: the ranks never have more places together
/// than the limit. While no session waits, every rank keeps the places that it has.
pub(crate) fn decide(limit: usize, current: &[(usize, PlaceReport)]) -> Vec<usize> {
    let taken: usize = current.iter().map(|(target, places)| places.held.max(*target)).sum();
    let mut left = limit.saturating_sub(taken);
    let needs = |places: &PlaceReport| places.waiting > places.free;
    let wanted: usize = current
        .iter()
        .filter(|(target, places)| needs(places) && places.held >= *target)
        .map(|(_, places)| places.waiting - places.free)
        .sum();
    // What the ranks in need want and what is not left over has to come from the others.
    let mut missing = wanted.saturating_sub(left);
    current
        .iter()
        .map(|(target, places)| {
            if needs(places) && places.held >= *target {
                let more = left.min(places.waiting - places.free);
                left -= more;
                return target + more;
            }
            // Before a rank has reported what it was given, nothing is known of its free places.
            if places.held < *target || needs(places) {
                return *target;
            }
            let spare = places.free.min(missing);
            missing -= spare;
            places.held.min(*target).saturating_sub(spare)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use servemark::rng::NumpyRandom;

    use super::*;

    fn places(held: usize, free: usize, waiting: usize) -> PlaceReport {
        PlaceReport { held, free, waiting }
    }

    #[test]
    fn a_rank_in_need_gets_what_another_does_not_use() {
        // Even the last place of a rank that has nothing to send.
        assert_eq!(decide(2, &[(1, places(1, 1, 0)), (1, places(1, 0, 3))]), [0, 1]);
        // The first has no use for seven of its eight places, the second waits.
        let first = decide(16, &[(8, places(8, 7, 0)), (8, places(8, 0, 5))]);
        assert_eq!(first, [3, 8], "places are given up first");
        // They were given up: now the second gets them.
        assert_eq!(decide(16, &[(3, places(3, 2, 0)), (8, places(8, 0, 5))]), [3, 13]);
        // No session waits: everything stays.
        let even = [(8, places(8, 3, 0)), (8, places(8, 1, 0))];
        assert_eq!(decide(16, &even), [8, 8]);
    }

    /// Ranks with random loads take and give up places; whatever happens, they never have more
    /// than the limit together.
    #[test]
    fn ranks_never_have_more_places_than_the_limit() {
        let mut random = NumpyRandom::seeded(5);
        let mut draw = |most: usize| {
            let above = i64::try_from(most + 1).unwrap();
            usize::try_from(random.randint(0, above).unwrap()).unwrap()
        };
        for round in 0..200 {
            let (limit, ranks) = (1 + draw(40), 1 + draw(5));
            let share = |rank: usize| (limit + ranks - 1 - rank) / ranks;
            let mut targets: Vec<usize> = (0..ranks).map(share).collect();
            let mut held = targets.clone();
            let mut used = vec![0_usize; ranks];
            let mut reports: Vec<PlaceReport> =
                held.iter().map(|held| places(*held, *held, 0)).collect();
            for _ in 0..60 {
                for rank in 0..ranks {
                    // Late reports: some ranks say nothing in this round.
                    let wanted = draw(limit);
                    used[rank] = wanted.min(held[rank]).max(used[rank].saturating_sub(draw(3)));
                    if draw(3) > 0 {
                        let free = held[rank] - used[rank];
                        reports[rank] = places(held[rank], free, wanted.saturating_sub(used[rank]));
                    }
                }
                let current: Vec<_> =
                    targets.iter().copied().zip(reports.iter().copied()).collect();
                targets = decide(limit, &current);
                for rank in 0..ranks {
                    if draw(3) > 0 {
                        held[rank] =
                            targets[rank].max(used[rank]).min(held[rank].max(targets[rank]));
                    }
                }
                let together: usize = held.iter().sum();
                assert!(together <= limit, "round {round}: {held:?} of {limit}");
            }
        }
    }
}
