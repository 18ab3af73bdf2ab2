//! A timer that wakes the bare reader when requests are due.

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

    /// Starts the timer. The first request is due at once; a first value of zero would disarm the
    /// timer.
    pub(super) fn start(&self) -> io::Result<()> {
        self.arm(Duration::from_nanos(1), self.step)
    }

    /// Returns the number of requests that are due by now; call it when the timer has fired. After
    /// the last request it does not fire again.
    pub(super) fn fired(&mut self) -> io::Result<usize> {
        let mut steps = [0; 8];
        rustix::io::read(&self.descriptor, &mut steps)?;
        let steps = usize::try_from(u64::from_ne_bytes(steps)).unwrap_or(usize::MAX);
        let due = if self.step.is_zero() { self.requests } else { self.due.saturating_add(steps) };
        self.due = due.min(self.requests);
        if self.due == self.requests {
            self.arm(Duration::ZERO, Duration::ZERO)?;
        }
        Ok(self.due)
    }

    fn arm(&self, first: Duration, step: Duration) -> io::Result<()> {
        let timespec = |time| Timespec::try_from(time).map_err(io::Error::other);
        let times = Itimerspec { it_interval: timespec(step)?, it_value: timespec(first)? };
        timerfd_settime(&self.descriptor, TimerfdTimerFlags::empty(), &times)?;
        Ok(())
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, poll};

    use super::*;

    #[track_caller]
    fn fires(timer: &Timer, patience: Duration) -> bool {
        let patience = Timespec::try_from(patience).unwrap();
        poll(&mut [PollFd::new(timer, PollFlags::IN)], Some(&patience)).unwrap() == 1
    }

    #[test]
    fn it_falls_silent_when_every_request_is_due() {
        let step = Duration::from_micros(200);
        let mut timer = Timer::new(3, step).unwrap();
        timer.start().unwrap();
        let mut due = 0;
        while due < 3 {
            assert!(fires(&timer, Duration::from_secs(10)));
            due = timer.fired().unwrap();
        }
        assert!(!fires(&timer, step * 10));
    }
}
