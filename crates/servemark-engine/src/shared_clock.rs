//! The machine's monotonic clock, as another process reads it.

use servemark_core::{Clock, MonotonicClock, Stamp};
use servemark_pacer::MachineClock;

/// Converts another process's reading of the machine's monotonic clock into a stamp of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedClock {
    /// The reading of the machine's clock, in nanoseconds, at which the run's clock started.
    start_ns: u64,
}

impl SharedClock {
    /// Relates the two clocks. Reads the machine's clock between two readings of the run's, several
    /// times, and uses the closest pair, which is the most accurate.
    pub(crate) fn of(clock: &dyn Clock) -> Self {
        let readings = (0..TRIES).map(|_| {
            let (before, machine, after) = (clock.now(), machine_ns(), clock.now());
            let width = after.since(before);
            let middle = before + width / 2;
            (width, machine.saturating_sub(middle.as_nanos()))
        });
        Self { start_ns: readings.min().map_or(0, |(_, start_ns)| start_ns) }
    }

    /// Returns the stamp of a reading.
    pub(crate) fn stamp(self, machine_ns: u64) -> Stamp {
        Stamp::from_nanos(machine_ns.saturating_sub(self.start_ns))
    }

    /// Whether a reading can have been taken between `earlier` and now.
    pub(crate) fn is_within(self, machine_ns: u64, earlier: Stamp, clock: MonotonicClock) -> bool {
        (earlier..=clock.now()).contains(&self.stamp(machine_ns))
    }
}

fn machine_ns() -> u64 {
    MachineClock.now().as_nanos()
}

const TRIES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_lies_between_the_stamps_around_it() {
        let clock = MonotonicClock::start();
        let shared = SharedClock::of(&clock);
        let before = clock.now();
        let reading = machine_ns();
        assert!(shared.is_within(reading, before, clock));
        assert!(!shared.is_within(reading + 3_600_000_000_000, before, clock));
    }
}
