//! Peaks of a run: the largest number of requests in flight, and of tokens in one second.

use std::collections::{BTreeMap, VecDeque};
use std::iter::{self, Peekable};

use servemark_core::Stamp;

use crate::statistics::whole;

/// Returns the largest number of intervals that are open at once. An interval that ends when
/// another starts is closed first.
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

/// Returns the largest number of intervals, in seconds, that touch the same whole second after
/// `first`, as SGLang counts.
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

/// Returns the largest number of instants in one whole second after `first`. As in SGLang, seconds
/// count up to the one that contains `last`, or that begins with it.
pub(crate) fn fullest_bucket(times: impl Iterator<Item = f64>, first: f64, last: f64) -> usize {
    let end = whole((last - first).ceil());
    let mut buckets = BTreeMap::<usize, usize>::new();
    for second in times.map(|time| whole(time - first)).filter(|&second| second <= end) {
        *buckets.entry(second).or_default() += 1;
    }
    buckets.into_values().max().unwrap_or_default()
}

/// Returns the largest number of instants in any second, wherever it begins. Each stream's `times`
/// are in order. All streams are read second by second, so that only the instants of two seconds
/// are kept.
pub(crate) fn fullest_second<'s, S, I>(streams: &'s [S], times: impl Fn(&'s S) -> I) -> usize
where
    I: Iterator<Item = f64>,
{
    let mut streams = Streams::new(streams, times);
    let (mut batch, mut recent, mut most) = (Vec::new(), VecDeque::new(), 0);
    while streams.next_second(&mut batch) {
        for &time in &batch {
            recent.push_back(time);
            while recent.front().is_some_and(|oldest| time - oldest >= 1.0) {
                recent.pop_front();
            }
            most = most.max(recent.len());
        }
    }
    most
}

/// Streams of instants that are read together.
struct Streams<'s, S, F, I: Iterator<Item = f64>> {
    times: F,
    /// Streams that have not begun, the earliest last.
    waiting: Vec<(f64, &'s S)>,
    open: Vec<Peekable<I>>,
}

impl<'s, S, F: Fn(&'s S) -> I, I: Iterator<Item = f64>> Streams<'s, S, F, I> {
    fn new(streams: &'s [S], times: F) -> Self {
        let begun = |stream| Some((times(stream).next()?, stream));
        let mut waiting: Vec<(f64, &S)> = streams.iter().filter_map(begun).collect();
        waiting.sort_unstable_by(|left, right| right.0.total_cmp(&left.0));
        Self { times, waiting, open: Vec::new() }
    }

    /// Fills the batch with the instants of the next second that has any, in order. Returns false
    /// when all streams are read.
    fn next_second(&mut self, batch: &mut Vec<f64>) -> bool {
        batch.clear();
        let Some(end) = self.next().map(|first| first + 1.0) else { return false };
        while let Some((_, stream)) = self.waiting.pop_if(|(begins, _)| *begins <= end) {
            self.open.push((self.times)(stream).peekable());
        }
        for stream in &mut self.open {
            batch.extend(iter::from_fn(|| stream.next_if(|&time| time <= end)));
        }
        self.open.retain_mut(|stream| stream.peek().is_some());
        servemark_statistics::sort(batch);
        true
    }

    /// Returns the earliest instant that is not yet read.
    fn next(&mut self) -> Option<f64> {
        let waiting = self.waiting.last().map(|&(begins, _)| begins);
        let open = self.open.iter_mut().filter_map(|stream| stream.peek().copied());
        open.chain(waiting).min_by(f64::total_cmp)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stamps(intervals: &[(u64, u64)]) -> impl Iterator<Item = (Stamp, Stamp)> + '_ {
        let stamp = Stamp::from_nanos;
        intervals.iter().map(move |&(start, length)| (stamp(start), stamp(start + length)))
    }

    /// Counts, at each start, the intervals that have started and not ended.
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
            streams in prop::collection::vec(prop::collection::vec(0u32..40, 0..20), 0..6),
        ) {
            let times = |mut quarters: Vec<u32>| -> Vec<f64> {
                quarters.sort_unstable();
                quarters.into_iter().map(|q| f64::from(q) / 4.0).collect()
            };
            let streams: Vec<Vec<f64>> = streams.into_iter().map(times).collect();
            let ours = fullest_second(&streams, |times| times.iter().copied());
            prop_assert_eq!(ours, naive_fullest_second(&streams.concat()));
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
        assert_eq!(fullest_second(&[times], |times| times.iter().copied()), 3);
    }
}
