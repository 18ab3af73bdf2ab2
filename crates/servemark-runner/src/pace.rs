//! Decides when to wake up for requests that are due.

use std::time::Duration;

use servemark_core::Stamp;
use servemark_schedule::Schedule;

use crate::Share;

/// Decides when to wake up: at each due time, unless due times are so dense that waking for each
/// costs more than it gains. Then requests due within [`APART`] are sent together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    apart: Duration,
    last: Stamp,
}

impl Pace {
    /// Creates the pace for one shard's part of a schedule that starts at `start`.
    pub(crate) fn of(schedule: &Schedule, share: Share, start: Stamp) -> Self {
        let count = u32::try_from(share.of(schedule.len())).unwrap_or(u32::MAX);
        let is_dense = schedule.span() < APART.saturating_mul(count);
        Self { apart: if is_dense { APART } else { Duration::ZERO }, last: start }
    }

    /// Returns when to wake up for the next due time: never before it, and at most [`APART`] after
    /// it.
    pub(crate) fn wake(&mut self, due: Stamp) -> Stamp {
        if due > self.last {
            self.last = due.max(self.last + self.apart);
        }
        self.last
    }
}

/// The gap between 20,000 arrivals a second. Above that rate, arming a timer and waking up for each
/// arrival takes most of a core; sending them in pairs halves that.
const APART: Duration = Duration::from_micros(50);

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;

    /// Checks the wake-up times for due times, all in microseconds.
    #[track_caller]
    fn check(shards: usize, due: &[u64], expected: &[u64]) {
        let schedule: Schedule = due.iter().copied().map(Duration::from_micros).collect();
        let share = Share::WHOLE.first_among(NonZeroUsize::new(shards).unwrap());
        let mut pace = Pace::of(&schedule, share, Stamp::ZERO);
        let woken = share.of_all(schedule.iter());
        let woken = woken.map(|(_, due)| pace.wake(Stamp::ZERO + due).as_nanos() / 1000);
        assert_eq!(woken.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn every_request_is_woken_at_its_due_time() {
        check(1, &[0, 10, 20, 500, 501], &[0, 10, 20, 500, 501]);
    }

    #[test]
    fn where_there_are_very_many_they_go_together() {
        check(1, &[0, 20, 40, 60, 61, 62, 120, 180], &[0, 50, 50, 100, 100, 100, 150, 200]);
    }

    #[test]
    fn it_is_the_shards_own_arrivals_that_count() {
        check(2, &[0, 40, 80, 120, 160, 200], &[0, 80, 160]);
    }

    #[test]
    fn a_burst_goes_at_once() {
        check(1, &[0, 0, 0], &[0, 0, 0]);
    }
}
