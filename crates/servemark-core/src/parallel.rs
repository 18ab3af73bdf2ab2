//! Parallel work on all cores whose results keep the order of the input.
//!
//! The work itself must not draw random numbers: the caller draws them before or after.

use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{panic, thread};

use crate::{Progress, Task};

/// Calls `work` on every item, on all cores; returns the results in the order of the items.
///
/// ```
/// use servemark_core::{NoProgress, parallel};
///
/// let squares = parallel::map("squaring", &[1, 2, 3], &NoProgress, |number| number * number);
/// assert_eq!(squares, [1, 4, 9]);
/// ```
pub fn map<T, R>(
    name: &str,
    items: &[T],
    progress: &dyn Progress,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R>
where
    T: Sync,
    R: Send,
{
    let task = Task::begin(progress, name, items.len() as u64);
    spread(items, work, |results| task.advance(results.len() as u64))
}

/// Returns the first `count` results that `work` produces from the items, in order.
///
/// Items are processed in blocks, so `work` may run on items after the last one needed; their
/// results and errors are discarded.
pub fn first<T, R, E>(
    name: &str,
    items: &[T],
    count: usize,
    progress: &dyn Progress,
    work: impl Fn(&T) -> Result<Option<R>, E> + Sync,
) -> Result<Vec<R>, E>
where
    T: Sync,
    R: Send,
    E: Send,
{
    let task = Task::begin(progress, name, count.min(items.len()) as u64);
    let report = |results: &[Result<Option<R>, E>]| {
        let found = results.iter().filter(|result| matches!(result, Ok(Some(_))));
        task.advance(found.count() as u64);
    };
    let mut found = Vec::new();
    let mut rest = items;
    while found.len() < count && !rest.is_empty() {
        let missing = count - found.len();
        let (block, later) = rest.split_at(block_size(missing).min(rest.len()));
        rest = later;
        let made = spread(block, &work, report).into_iter().filter_map(Result::transpose);
        found.extend(made.take(missing).collect::<Result<Vec<R>, E>>()?);
    }
    Ok(found)
}

/// Number of items to process at once when `missing` results are wanted: some items give none.
fn block_size(missing: usize) -> usize {
    missing.saturating_add(missing / 8 + 16)
}

/// Splits the items among the cores and reports the results of each share in about fifty steps.
fn spread<T, R>(items: &[T], work: impl Fn(&T) -> R + Sync, report: impl Fn(&[R]) + Sync) -> Vec<R>
where
    T: Sync,
    R: Send,
{
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let shares: Vec<_> = items.chunks(items.len().div_ceil(cores).max(1)).collect();
    let made: Vec<_> = shares.iter().map(|_| Mutex::new(Vec::new())).collect();
    on_threads(shares.len(), &|share| {
        let items = shares[share];
        let mut results = Vec::with_capacity(items.len());
        for step in items.chunks(items.len().div_ceil(50)) {
            let before = results.len();
            results.extend(step.iter().map(&work));
            report(&results[before..]);
        }
        *lock(&made[share]) = results;
    });
    let mut all = Vec::with_capacity(items.len());
    for results in &made {
        all.append(&mut lock(results));
    }
    all
}

/// Calls `work` with each number below `count`, each on a thread of its own. A panic is the
/// caller's. It is not generic, so the start of threads is compiled once and not for each work.
fn on_threads(count: usize, work: &(dyn Fn(usize) + Sync)) {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..count).map(|number| scope.spawn(move || work(number))).collect();
        for worker in workers {
            worker.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        }
    });
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoProgress;

    /// The total that was announced, the steps that were reported, and whether the work ended.
    #[derive(Default)]
    struct RecordedProgress(Mutex<(u64, u64, bool)>);

    impl Progress for RecordedProgress {
        fn begin(&self, _work: &str, total: u64) {
            self.0.lock().unwrap().0 = total;
        }
        fn advance(&self, steps: u64) {
            self.0.lock().unwrap().1 += steps;
        }
        fn end(&self) {
            self.0.lock().unwrap().2 = true;
        }
    }

    #[test]
    fn results_keep_the_order_and_every_step_is_told() {
        for length in [0_u64, 1, 2, 7, 1000] {
            let items: Vec<u64> = (0..length).collect();
            let reported = RecordedProgress::default();
            assert_eq!(map("counting", &items, &reported, |item| *item), items);
            assert_eq!(reported.0.into_inner().unwrap(), (length, length, true));
        }
    }

    /// Returns odd numbers below 200, and an error from 200 on.
    fn odd(item: u32) -> Result<Option<u32>, u32> {
        if item >= 200 { Err(item) } else { Ok((item % 2 == 1).then_some(item)) }
    }

    #[track_caller]
    fn check_search(items: u32, count: usize, expected: Result<u32, u32>) {
        let items: Vec<u32> = (0..items).collect();
        let expected = expected.map(|last| (1..=last).step_by(2).collect());
        assert_eq!(first("searching", &items, count, &NoProgress, |item| odd(*item)), expected);
    }

    #[test]
    fn the_first_are_the_first() {
        check_search(1000, 0, Ok(0));
        check_search(1000, 1, Ok(1));
        check_search(1000, 50, Ok(99));
        check_search(10, 100, Ok(9));
    }

    #[test]
    fn an_error_counts_only_if_it_is_reached() {
        check_search(1000, 100, Ok(199));
        check_search(1000, 101, Err(200));
    }

    #[test]
    fn work_that_fails_is_over_too() {
        let reported = RecordedProgress::default();
        assert_eq!(first("searching", &[500], 1, &reported, |item| odd(*item)), Err(500));
        assert_eq!(reported.0.into_inner().unwrap(), (1, 0, true));
    }
}
