//! Clocks of the operating system.

use std::time::Duration;

use servemark_core::{Clock, Stamp};

/// The machine's monotonic clock. Its stamps count from the machine's own origin, so stamps of two
/// processes of one machine can be compared.
///
/// On Windows it is the wall clock at the first reading of the process, continued monotonically: the
/// stamps of two processes differ by what the wall clock was changed between their first readings.
#[derive(Clone, Copy, Debug, Default)]
pub struct MachineClock;

impl Clock for MachineClock {
    fn now(&self) -> Stamp {
        Stamp::ZERO + system::now()
    }
}

/// Returns the CPU time that the calling thread has used. Windows counts it in ticks of 15.6 ms.
pub fn thread_cpu_time() -> Duration {
    system::thread_cpu_time()
}

#[cfg(unix)]
mod system {
    use std::time::Duration;

    use rustix::time::{ClockId, clock_gettime};

    pub(super) fn now() -> Duration {
        Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
    }

    pub(super) fn thread_cpu_time() -> Duration {
        Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
    }
}

#[cfg(not(unix))]
mod system {
    use std::sync::LazyLock;
    use std::time::Duration;

    use cpu_time::ThreadTime;
    use servemark_core::{Clock, MonotonicClock, Stamp, unix_now};

    pub(super) fn now() -> Duration {
        static ORIGIN: LazyLock<(Duration, MonotonicClock)> =
            LazyLock::new(|| (unix_now(), MonotonicClock::start()));
        let (wall, clock) = *ORIGIN;
        wall + clock.now().since(Stamp::ZERO)
    }

    pub(super) fn thread_cpu_time() -> Duration {
        ThreadTime::try_now().map(|time| time.as_duration()).unwrap_or_default()
    }
}
