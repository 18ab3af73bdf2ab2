//! Who waits for a place, and until when. Time is a parameter.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroUsize;
use std::time::Duration;

use servemark_core::Stamp;

/// When each place is free, the earliest first.
///
/// How long an answer takes is known when its request arrives, so that whoever comes can be told at
/// once when his turn is: there is no queue but this.
#[derive(Debug)]
pub(super) struct Places {
    free_at: BinaryHeap<Reverse<Stamp>>,
}

impl Places {
    pub(super) fn new(places: NonZeroUsize) -> Self {
        Self { free_at: (0..places.get()).map(|_| Reverse(Stamp::ZERO)).collect() }
    }

    /// Gives a place to who has come now and will keep it for so long. Says from when on.
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
        let mut places = Places::new(const { NonZeroUsize::new(2).unwrap() });
        let mut take = |now, lasts| {
            places.take(Stamp::from_nanos(now), Duration::from_nanos(lasts)).as_nanos()
        };
        assert_eq!([take(5, 10), take(6, 3)], [5, 6], "both places were free");
        assert_eq!([take(7, 10), take(8, 1)], [9, 15], "free at 9 and at 15");
        assert_eq!(take(100, 1), 100);
    }
}
