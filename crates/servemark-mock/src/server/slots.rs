//! The limit on requests served at once. Time is a parameter.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroUsize;
use std::time::Duration;

use servemark_core::Stamp;

/// When each place becomes free, the earliest first.
///
/// The duration of an answer is known when its request arrives, so the start of each request can be
/// computed at once and no other queue is needed.
#[derive(Debug)]
pub(super) struct Slots {
    free_at: BinaryHeap<Reverse<Stamp>>,
}

impl Slots {
    pub(super) fn new(places: NonZeroUsize) -> Self {
        Self { free_at: (0..places.get()).map(|_| Reverse(Stamp::ZERO)).collect() }
    }

    /// Takes the first free place for a request that arrives at `now` and keeps it for `lasts`.
    /// Returns when the request gets the place.
    pub(super) fn take(&mut self, now: Stamp, lasts: Duration) -> Stamp {
        let Some(mut first) = self.free_at.peek_mut() else { return now };
        let begins = first.0.max(now);
        *first = Reverse(begins + lasts);
        begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_first_is_served_first_and_nobody_waits_for_longer_than_a_place_is_taken() {
        let mut places = Slots::new(const { NonZeroUsize::new(2).unwrap() });
        let mut take = |now, lasts| {
            places.take(Stamp::from_nanos(now), Duration::from_nanos(lasts)).as_nanos()
        };
        assert_eq!([take(5, 10), take(6, 3)], [5, 6], "both places were free");
        assert_eq!([take(7, 10), take(8, 1)], [9, 15], "free at 9 and at 15");
        assert_eq!(take(100, 1), 100);
    }
}
