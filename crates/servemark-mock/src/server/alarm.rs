//! Ends the event loop's wait at a due time.
//!
//! On Linux it is a timerfd registered with the poll, because `epoll_wait` itself counts whole
//! milliseconds. Elsewhere the wait has a time-out, which `kqueue` counts in nanoseconds.

#[cfg(target_os = "linux")]
mod machine {
    use std::io;
    use std::os::fd::{AsFd, AsRawFd};
    use std::time::Duration;

    use mio::unix::SourceFd;
    use mio::{Interest, Registry, Token};
    use servemark_core::Stamp;
    use servemark_pacer::TimerFd;

    /// A timer that ends the event loop's wait when something is due.
    #[derive(Debug)]
    pub(crate) struct Alarm {
        timer: TimerFd,
        armed: Option<Stamp>,
    }

    impl Alarm {
        /// Registers a timer whose events carry `token`; such an event only ends the wait. Events
        /// are edge-triggered, so the timer need not be read.
        pub(crate) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
            let timer = TimerFd::new()?;
            let fd = timer.as_fd().as_raw_fd();
            registry.register(&mut SourceFd(&fd), token, Interest::READABLE)?;
            Ok(Self { timer, armed: None })
        }

        /// Sets the timer to `due`, which lies in the future. Returns the time-out for the wait:
        /// none, as the timer ends it.
        pub(crate) fn set(&mut self, due: Stamp, _now: Stamp) -> Option<Duration> {
            if self.armed != Some(due) {
                self.timer.arm(due);
                self.armed = Some(due);
            }
            None
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod machine {
    use std::io;
    use std::time::Duration;

    use mio::{Registry, Token};
    use servemark_core::Stamp;

    /// A time-out that ends the event loop's wait when something is due.
    #[derive(Debug)]
    pub(crate) struct Alarm;

    impl Alarm {
        pub(crate) fn new(_registry: &Registry, _token: Token) -> io::Result<Self> {
            Ok(Self)
        }

        /// Returns the time-out for a wait until `due`, which lies in the future.
        pub(crate) fn set(&mut self, due: Stamp, now: Stamp) -> Option<Duration> {
            Some(due.since(now))
        }
    }
}

pub(super) use machine::Alarm;
