//! Wakes the floor when requests are due.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// A timer that fires at once and then in equal steps, each of which makes one request due.
#[derive(Debug)]
pub(super) struct Timer {
    descriptor: OwnedFd,
    due: usize,
    step: Duration,
    requests: usize,
}

impl Timer {
    pub(super) fn new(requests: usize, step: Duration) -> io::Result<Self> {
        let descriptor = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        Ok(Self { descriptor, due: 0, step, requests })
    }

    pub(super) fn start(&self) -> io::Result<()> {
        let soon = Timespec { tv_sec: 0, tv_nsec: 1 };
        // No run steps by more seconds than a `Timespec` holds.
        let it_interval = Timespec::try_from(self.step).map_err(io::Error::other)?;
        let it_value = soon;
        let flags = TimerfdTimerFlags::empty();
        timerfd_settime(&self.descriptor, flags, &Itimerspec { it_interval, it_value })?;
        Ok(())
    }

    /// How many requests are due by now; call it when the timer has fired.
    pub(super) fn fired(&mut self) -> io::Result<usize> {
        let mut steps = [0; 8];
        rustix::io::read(&self.descriptor, &mut steps)?;
        let steps = usize::try_from(u64::from_ne_bytes(steps)).unwrap_or(usize::MAX);
        self.due = if self.step.is_zero() { self.requests } else { self.due.saturating_add(steps) };
        self.due = self.due.min(self.requests);
        Ok(self.due)
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
