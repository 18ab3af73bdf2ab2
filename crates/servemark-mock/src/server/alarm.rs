//! Ends the event loop's wait at a due time.
//!
//! On Linux it is a timerfd registered with the poll, because `epoll_wait` itself counts whole
//! milliseconds. Elsewhere it is a thread that wakes the poll.

#[cfg(target_os = "linux")]
mod machine {
    use std::io;
    use std::os::fd::{AsFd, AsRawFd};
    use std::sync::Arc;
    use std::time::Duration;

    use mio::unix::SourceFd;
    use mio::{Interest, Registry, Token, Waker};
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
        pub(crate) fn new(
            registry: &Registry,
            token: Token,
            _waker: &Arc<Waker>,
        ) -> io::Result<Self> {
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
    use std::sync::Arc;
    use std::time::Duration;

    use mio::{Registry, Token, Waker};
    use servemark_core::Stamp;
    use servemark_pacer::Sleeper;

    /// A thread that ends the event loop's wait when something is due.
    #[derive(Debug)]
    pub(crate) struct Alarm {
        sleeper: Sleeper,
        armed: Option<Stamp>,
    }

    impl Alarm {
        /// Starts the thread. It wakes the poll by its only waker, so its events have that token.
        pub(crate) fn new(
            _registry: &Registry,
            _token: Token,
            waker: &Arc<Waker>,
        ) -> io::Result<Self> {
            let waker = Arc::clone(waker);
            // A poll that has ended needs no wake.
            let sleeper = Sleeper::start(move || drop(waker.wake()))?;
            Ok(Self { sleeper, armed: None })
        }

        /// Sets the thread to `due`, which lies in the future. Returns the time-out for the wait:
        /// none, as the thread ends it.
        pub(crate) fn set(&mut self, due: Stamp, _now: Stamp) -> Option<Duration> {
            if self.armed != Some(due) {
                self.sleeper.arm(due);
                self.armed = Some(due);
            }
            None
        }
    }
}

pub(super) use machine::Alarm;
