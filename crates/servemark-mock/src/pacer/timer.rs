//! Wakes the pacer at an absolute time.
//!
//! On Linux this is a timerfd, some 30 us late; tokio's own wheel rounds up to its millisecond, by
//! 1.06 ms on average, and is used elsewhere.

#[cfg(target_os = "linux")]
mod machine {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use servemark_core::Stamp;
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    #[derive(Debug)]
    pub(crate) struct Timer {
        fd: AsyncFd<OwnedFd>,
    }

    impl Timer {
        #[expect(
            deprecated,
            reason = "it is deprecated for descriptors that may change while registered; an OwnedFd \
                      cannot, and the constructor that replaces it is unsafe"
        )]
        pub(crate) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            Ok(Self { fd: AsyncFd::with_interest(fd, Interest::READABLE)? })
        }

        /// Fires at `at`, at once if that has passed, and at no other time.
        pub(crate) fn arm(&self, at: Stamp) {
            let at = Duration::from_nanos(at.as_nanos().max(1));
            let it_value =
                Timespec { tv_sec: at.as_secs().cast_signed(), tv_nsec: at.subsec_nanos().into() };
            let once = Itimerspec { it_interval: Timespec::default(), it_value };
            timerfd_settime(&self.fd, TimerfdTimerFlags::ABSTIME, &once)
                .expect("the time is in range and the descriptor is a timer");
        }

        /// The timer is not read: arming it anew is what resets it.
        pub(crate) async fn fired(&self) -> io::Result<()> {
            self.fd.readable().await?.clear_ready();
            Ok(())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod machine {
    use std::cell::Cell;
    use std::io;
    use std::time::Duration;

    use servemark_core::{Clock, Stamp};
    use tokio::sync::Notify;
    use tokio::time::{Instant, sleep_until};

    use crate::clock::MachineClock;

    #[derive(Debug, Default)]
    pub(crate) struct Timer {
        at: Cell<Option<Stamp>>,
        armed: Notify,
    }

    impl Timer {
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self::default())
        }

        /// Fires at `at`, at once if that has passed, and at no other time.
        pub(crate) fn arm(&self, at: Stamp) {
            self.at.set(Some(at));
            self.armed.notify_one();
        }

        pub(crate) async fn fired(&self) -> io::Result<()> {
            while let Some(wait) = self.at.get().map(|at| at.since(MachineClock.now())) {
                if wait == Duration::ZERO {
                    self.at.set(None);
                    return Ok(());
                }
                tokio::select! {
                    () = sleep_until(Instant::now() + wait) => {}
                    () = self.armed.notified() => {}
                }
            }
            self.armed.notified().await;
            Ok(())
        }
    }
}

pub(super) use machine::Timer;
