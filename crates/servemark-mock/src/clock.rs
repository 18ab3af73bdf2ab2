//! The server's clocks: the machine's monotonic one and its own thread's CPU time.
//!
//! Stamps count from the clock's own origin, not from the server's start, so that what two
//! processes of one machine stamp can be compared.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};
use servemark_core::{Clock, Stamp};

/// The machine's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineClock;

impl Clock for MachineClock {
    fn now(&self) -> Stamp {
        Stamp::ZERO + duration(clock_gettime(ClockId::Monotonic))
    }
}

/// What the calling thread has used of a core.
pub(crate) fn thread_cpu_time() -> Duration {
    duration(clock_gettime(ClockId::ThreadCPUTime))
}

/// Neither clock is ever negative.
fn duration(time: Timespec) -> Duration {
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
