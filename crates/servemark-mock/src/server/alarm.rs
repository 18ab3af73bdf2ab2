//! Ends the event loop's wait at a due time.
//!
//! On Linux it is a timerfd registered with the poll, because `epoll_wait` itself counts whole
//! milliseconds. Elsewhere it is a thread that wakes the poll.

use std::io;
use std::sync::Arc;

use mio::{Registry, Token, Waker};
use servemark_core::Stamp;

/// A timer that ends the event loop's wait when something is due.
#[derive(Debug)]
pub(super) struct Alarm {
    timer: machine::Timer,
    armed: Option<Stamp>,
}

impl Alarm {
    /// Creates a timer that is not set. It ends the wait by an event with `token` or by the poll's
    /// only waker, as the system allows.
    pub(super) fn new(registry: &Registry, token: Token, waker: &Arc<Waker>) -> io::Result<Self> {
        Ok(Self { timer: machine::timer(registry, token, waker)?, armed: None })
    }

    /// Sets the timer to `due`, which lies in the future.
    pub(super) fn set(&mut self, due: Stamp) {
        if self.armed != Some(due) {
            self.timer.arm(due);
            self.armed = Some(due);
        }
    }
}

#[cfg(target_os = "linux")]
mod machine {
    use std::io;
    use std::os::fd::{AsFd, AsRawFd};
    use std::sync::Arc;

    use mio::unix::SourceFd;
    use mio::{Interest, Registry, Token, Waker};
    pub(super) use servemark_pacer::TimerFd as Timer;

    /// Registers a timer. Its events are edge-triggered, so it need not be read.
    pub(super) fn timer(
        registry: &Registry,
        token: Token,
        _waker: &Arc<Waker>,
    ) -> io::Result<Timer> {
        let timer = Timer::new()?;
        let fd = timer.as_fd().as_raw_fd();
        registry.register(&mut SourceFd(&fd), token, Interest::READABLE)?;
        Ok(timer)
    }
}

#[cfg(not(target_os = "linux"))]
mod machine {
    use std::io;
    use std::sync::Arc;

    use mio::{Registry, Token, Waker};
    pub(super) use servemark_pacer::Sleeper as Timer;

    /// Starts a thread that wakes the poll. A poll that has ended needs no wake.
    pub(super) fn timer(
        _registry: &Registry,
        _token: Token,
        waker: &Arc<Waker>,
    ) -> io::Result<Timer> {
        let waker = Arc::clone(waker);
        Timer::start(move || drop(waker.wake()))
    }
}
