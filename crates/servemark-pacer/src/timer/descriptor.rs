//! The timer descriptors of Linux.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use servemark_core::Stamp;
use tokio::net::unix::pipe::Receiver;

/// A timer descriptor of the kernel that becomes readable when it fires, for use without a
/// runtime.
#[derive(Debug)]
pub struct TimerFd(OwnedFd);

impl TimerFd {
    /// Creates a timer that is not armed.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Self(timerfd_create(TimerfdClockId::Monotonic, flags)?))
    }

    /// Sets the timer to fire at `at` of the [`MachineClock`](crate::MachineClock), at once if
    /// that has passed. Replaces an earlier setting.
    pub fn arm(&self, at: Stamp) {
        arm(self.0.as_fd(), at);
    }
}

impl AsFd for TimerFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A timer that fires at an absolute time of the [`MachineClock`](crate::MachineClock).
#[derive(Debug)]
pub struct Timer {
    /// Tokio has no type for timer descriptors. It sees the timer as a pipe: a descriptor that
    /// becomes readable and returns bytes.
    fd: Receiver,
}

impl Timer {
    /// Creates a timer that is not armed, on the current runtime.
    pub fn new() -> io::Result<Self> {
        Ok(Self { fd: Receiver::from_owned_fd_unchecked(TimerFd::new()?.0)? })
    }

    /// Sets the timer to fire at `at`, at once if that has passed. Replaces an earlier setting.
    pub fn arm(&self, at: Stamp) {
        arm(self.fd.as_fd(), at);
    }

    /// Waits until the timer fires. Returns an error when the runtime shuts down.
    pub async fn fired(&self) -> io::Result<()> {
        loop {
            self.fd.readable().await?;
            match self.fd.try_read(&mut [0; 8]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read.map(drop),
            }
        }
    }
}

fn arm(timer: BorrowedFd<'_>, at: Stamp) {
    let nanos = at.as_nanos().max(1);
    let it_value = Timespec {
        tv_sec: (nanos / 1_000_000_000).cast_signed(),
        tv_nsec: (nanos % 1_000_000_000).cast_signed(),
    };
    let once = Itimerspec { it_interval: Timespec::default(), it_value };
    timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &once)
        .expect("the time is in range and the descriptor is a timer");
}
