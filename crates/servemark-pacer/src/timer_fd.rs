//! Linux's timer, armed to the absolute instant: 30 us late where Tokio's wheel is 1,060.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use servemark_core::{Clock, MonotonicClock, Stamp};
use tokio::net::unix::pipe::Receiver;

use super::Pacer;

/// Waits on one `timerfd`. Its clock is the run's [`MonotonicClock`].
#[derive(Debug)]
pub struct TimerFdPacer {
    clock: MonotonicClock,
    /// The system's monotonic clock at our clock's zero.
    zero: Duration,
    /// Tokio has no timer descriptor of its own. To it, a timer is a pipe: a descriptor that turns
    /// readable and gives bytes.
    timer: Receiver,
}

impl TimerFdPacer {
    /// A pacer for `clock`, on the runtime it is called in.
    pub fn new(clock: MonotonicClock) -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let timer = Receiver::from_owned_fd_unchecked(timer)?;
        let system = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default();
        let zero = system.saturating_sub(clock.now().since(Stamp::ZERO));
        Ok(Self { clock, zero, timer })
    }

    fn arm(&self, due: Stamp) -> io::Result<()> {
        let at = self.zero.saturating_add(due.since(Stamp::ZERO));
        let once = Itimerspec { it_interval: timespec(Duration::ZERO), it_value: timespec(at) };
        timerfd_settime(self.timer.as_fd(), TimerfdTimerFlags::ABSTIME, &once)?;
        Ok(())
    }

    async fn expired(&self) -> io::Result<()> {
        loop {
            self.timer.readable().await?;
            match self.timer.try_read(&mut [0; 8]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read.map(drop),
            }
        }
    }
}

impl Clock for TimerFdPacer {
    fn now(&self) -> Stamp {
        self.clock.now()
    }
}

impl Pacer for TimerFdPacer {
    async fn until(&self, due: Stamp) {
        if due <= self.now() {
            return;
        }
        // The calls cannot fail on a timer that we own; should one, the wait is still kept.
        let waited = async {
            self.arm(due)?;
            self.expired().await
        };
        if let Err(error) = waited.await {
            tracing::warn!(%error, "the timer failed; falling back to a coarser one");
            tokio::time::sleep_until(self.clock.instant(due).into()).await;
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    // Later than a timer can be set is as good as never.
    Timespec::try_from(duration).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_is_never_early_and_the_past_is_now() {
        let pacer = TimerFdPacer::new(MonotonicClock::start()).unwrap();
        let due = pacer.now() + Duration::from_micros(300);
        pacer.until(due).await;
        assert!(pacer.now() >= due);
        pacer.until(Stamp::ZERO).await;
    }
}
