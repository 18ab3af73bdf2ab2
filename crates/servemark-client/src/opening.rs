//! When connections are opened ahead of a run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use servemark_core::Stamp;
use servemark_target::OpeningSpec;

/// Assigns each connection the time at which it may be opened, across all threads.
#[derive(Debug)]
pub(crate) struct Turns {
    gap: Duration,
    next: AtomicU64,
}

impl Turns {
    pub(crate) fn new(spec: OpeningSpec) -> Self {
        let gap = Duration::from_secs(1) / spec.per_second.get();
        Self { gap, next: AtomicU64::default() }
    }

    /// Returns when the next connection may be opened, and reserves that time for the caller.
    pub(crate) fn take(&self, now: Stamp) -> Stamp {
        let free = |next| Stamp::from_nanos(next).max(now);
        let after = |next| Some((free(next) + self.gap).as_nanos());
        let next = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after);
        free(next.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_a_gap_apart_and_time_that_passed_is_not_made_up_for() {
        let turns = Turns::new(OpeningSpec::default());
        let take = |micros| turns.take(Stamp::ZERO + Duration::from_micros(micros));
        let at = |micros| Stamp::ZERO + Duration::from_micros(micros);
        assert_eq!([take(0), take(0), take(50)], [at(0), at(100), at(200)]);
        assert_eq!([take(9_000), take(9_000)], [at(9_000), at(9_100)]);
    }
}
