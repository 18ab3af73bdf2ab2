//! The highest point of a run: most requests at once, most tokens in a second.

use std::collections::BTreeMap;

use servemark_core::Stamp;

use crate::statistics::whole;

/// The most intervals that are open at once. One that ends when another starts is closed first.
pub(crate) fn most_open(intervals: impl Iterator<Item = (Stamp, Stamp)>) -> usize {
    let mut changes: Vec<(Stamp, i64)> =
        intervals.flat_map(|(start, end)| [(start, 1), (end, -1)]).collect();
    changes.sort_unstable();
    let open = changes.iter().scan(0, |open, (_, change)| {
        *open += change;
        Some(*open)
    });
    open.max().map_or(0, |most| usize::try_from(most).unwrap_or_default())
}

/// The most intervals of seconds that touch the same second after `first`, as SGLang counts.
pub(crate) fn most_in_a_bucket(intervals: &[(f64, f64)], first: f64) -> usize {
    let mut changes = BTreeMap::<usize, i64>::new();
    for (start, end) in intervals {
        *changes.entry(whole(start - first)).or_default() += 1;
        *changes.entry(whole(end - first) + 1).or_default() -= 1;
    }
    let open = changes.values().scan(0, |open, change| {
        *open += change;
        Some(*open)
    });
    open.max().map_or(0, |most| usize::try_from(most).unwrap_or_default())
}

/// The most instants in one of the seconds after `first`, up to the one in which `last` lies or
/// that it ends, as SGLang counts.
pub(crate) fn fullest_bucket(times: impl Iterator<Item = f64>, first: f64, last: f64) -> usize {
    let end = whole((last - first).ceil());
    let mut buckets = BTreeMap::<usize, usize>::new();
    for second in times.map(|time| whole(time - first)).filter(|&second| second <= end) {
        *buckets.entry(second).or_default() += 1;
    }
    buckets.into_values().max().unwrap_or_default()
}

/// The most instants in any second, wherever it begins.
pub(crate) fn fullest_second(mut times: Vec<f64>) -> usize {
    times.sort_unstable_by(f64::total_cmp);
    let mut oldest = 0;
    let within = times.iter().enumerate().map(|(newest, time)| {
        while time - times[oldest] >= 1.0 {
            oldest += 1;
        }
        newest + 1 - oldest
    });
    within.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stamps(intervals: &[(u64, u64)]) -> impl Iterator<Item = (Stamp, Stamp)> + '_ {
        let stamp = Stamp::from_nanos;
        intervals.iter().map(move |&(start, length)| (stamp(start), stamp(start + length)))
    }

    /// At each start, count who has started and not ended.
    fn naive_most_open(intervals: &[(u64, u64)]) -> usize {
        let open_at = |now: u64| {
            intervals
                .iter()
                .filter(|&&(start, length)| start <= now && now < start + length)
                .count()
        };
        intervals.iter().map(|&(start, _)| open_at(start)).max().unwrap_or_default()
    }

    fn naive_fullest_second(times: &[f64]) -> usize {
        let up_to = |end: f64| times.iter().filter(|&&t| t <= end && end - t < 1.0).count();
        times.iter().map(|&end| up_to(end)).max().unwrap_or_default()
    }

    proptest! {
        #[test]
        fn the_sweep_equals_the_naive_count(
            intervals in prop::collection::vec((0u64..20, 0u64..8), 0..40),
        ) {
            prop_assert_eq!(most_open(stamps(&intervals)), naive_most_open(&intervals));
        }

        #[test]
        fn the_fullest_second_equals_the_naive_one(
            quarters in prop::collection::vec(0u32..40, 0..60),
        ) {
            let times: Vec<f64> = quarters.into_iter().map(|q| f64::from(q) / 4.0).collect();
            prop_assert_eq!(fullest_second(times.clone()), naive_fullest_second(&times));
        }
    }

    #[test]
    fn one_after_the_other_is_one_at_a_time_unless_seconds_are_counted() {
        assert_eq!(most_open(stamps(&[(0, 5), (5, 5)])), 1);
        assert_eq!(most_in_a_bucket(&[(10.0, 10.4), (10.5, 10.9), (10.9, 11.1)], 10.0), 3);
    }

    #[test]
    fn a_bucket_begins_with_the_first_request_and_a_second_anywhere() {
        let times = [0.75, 1.25, 1.5];
        assert_eq!(fullest_bucket(times.into_iter(), 0.0, 1.5), 2);
        assert_eq!(fullest_second(times.to_vec()), 3);
    }
}
