//! The wait until something is due, in the event loop's own wait.
//!
//! On Linux it is a timerfd in the set of what is waited for: `epoll_wait` itself counts whole
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

    /// Ends the event loop's wait when something is due.
    #[derive(Debug)]
    pub(crate) struct Alarm {
        timer: TimerFd,
        armed: Option<Stamp>,
    }

    impl Alarm {
        /// The token is that of its events, which say nothing but that the wait is over. They are
        /// edges, so nobody has to read the timer.
        pub(crate) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
            let timer = TimerFd::new()?;
            let fd = timer.as_fd().as_raw_fd();
            registry.register(&mut SourceFd(&fd), token, Interest::READABLE)?;
            Ok(Self { timer, armed: None })
        }

        /// How long the loop may wait for something that is due then, which is not yet.
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

    /// Ends the event loop's wait when something is due.
    #[derive(Debug)]
    pub(crate) struct Alarm;

    impl Alarm {
        pub(crate) fn new(_registry: &Registry, _token: Token) -> io::Result<Self> {
            Ok(Self)
        }

        /// How long the loop may wait for something that is due then, which is not yet.
        pub(crate) fn set(&mut self, due: Stamp, now: Stamp) -> Option<Duration> {
            Some(due.since(now))
        }
    }
}

pub(super) use machine::Alarm;
