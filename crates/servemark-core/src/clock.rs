//! Time as a value: a [`Stamp`] is nanoseconds since the clock's start.
//!
//! Clocks are read only here and in the client's stamping I/O. All other code is given stamps, so a
//! test can run an hour's schedule in a millisecond.

use std::ops::{Add, Sub};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A monotonic instant: nanoseconds since the start of the run's [`Clock`].
///
/// ```
/// use std::time::Duration;
///
/// use servemark_core::Stamp;
///
/// let due = Stamp::ZERO + Duration::from_millis(20);
/// let sent = due + Duration::from_micros(35);
/// assert_eq!(sent.since(due), Duration::from_micros(35));
/// assert_eq!(due.since(sent), Duration::ZERO);
/// ```
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(transparent)]
pub struct Stamp(u64);

impl Stamp {
    /// The clock's start.
    pub const ZERO: Self = Self(0);

    /// Creates a stamp from nanoseconds since the clock's start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the nanoseconds since the clock's start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the seconds since the clock's start.
    pub fn as_secs_f64(self) -> f64 {
        Duration::from_nanos(self.0).as_secs_f64()
    }

    /// Moves the stamp by a number of nanoseconds, but not below the clock's start.
    #[must_use]
    pub const fn shifted(self, nanos: i64) -> Self {
        Self(self.0.saturating_add_signed(nanos))
    }

    /// Returns the time from `earlier` to this stamp; zero if `earlier` is the later one.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Stamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

/// Saturates at the clock's start.
impl Sub<Duration> for Stamp {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(nanos))
    }
}

/// A monotonic clock. All stamps of a run come from one clock.
///
/// ```
/// use servemark_core::{Clock, MonotonicClock, Stamp};
///
/// /// A clock for tests, at which it is always one second past the start.
/// struct OneSecond;
///
/// impl Clock for OneSecond {
///     fn now(&self) -> Stamp {
///         Stamp::from_nanos(1_000_000_000)
///     }
/// }
///
/// assert_eq!(OneSecond.now().as_secs_f64(), 1.0);
/// assert!(MonotonicClock::start().now() < OneSecond.now());
/// ```
pub trait Clock: Send + Sync {
    /// Returns the time since the clock's start.
    fn now(&self) -> Stamp;
}

/// The machine's monotonic clock; it starts when the value is created, and copies share the start.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    start: Instant,
}

impl MonotonicClock {
    /// Starts a clock.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Converts a stamp into a `std` instant, for timers that need one.
    pub fn instant(&self, stamp: Stamp) -> Instant {
        self.start + Duration::from_nanos(stamp.as_nanos())
    }

    /// Converts a `std` instant into a stamp; one before the clock's start becomes the start.
    pub fn stamp(&self, instant: Instant) -> Stamp {
        Stamp::ZERO + instant.saturating_duration_since(self.start)
    }
}

impl Clock for MonotonicClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn now(&self) -> Stamp {
        Stamp::ZERO + self.start.elapsed()
    }
}

/// Returns the wall-clock time since the Unix epoch. It dates files and headers and never enters a
/// latency.
#[expect(clippy::disallowed_methods, reason = "the one reader of the wall clock")]
pub fn unix_now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_never_goes_below_its_clock() {
        let (early, late) = (Stamp::from_nanos(5), Stamp::from_nanos(12));
        assert_eq!(late.since(early), Duration::from_nanos(7));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(early + Duration::MAX, Stamp::from_nanos(u64::MAX));
        assert_eq!(late - Duration::from_nanos(7), early);
        assert_eq!((late.shifted(-7), early.shifted(-6)), (early, Stamp::ZERO));
        assert_eq!(early - Duration::MAX, Stamp::ZERO);
    }

    #[test]
    fn the_monotonic_clock_and_its_instants_agree() {
        let clock = MonotonicClock::start();
        let first = clock.now();
        let second = clock.now();
        assert!(second >= first);
        assert_eq!(clock.instant(second).duration_since(clock.instant(first)), second.since(first));
        assert_eq!(clock.stamp(clock.instant(second)), second);
    }
}
