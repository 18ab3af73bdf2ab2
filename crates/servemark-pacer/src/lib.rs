//! Waits for absolute instants, on a precise timer.
//!
//! A [`Pacer`] is a clock that can be waited for. The load generator uses one to send and the
//! ground-truth server uses its [`Timer`] to answer, so that neither adds lateness of its own to
//! what is measured. Relative sleeps are not offered: their errors add up.

use std::io;
use std::time::Duration;

use servemark_core::{Clock, MonotonicClock, Stamp};
use tokio::time::Instant;

mod machine_clock;
mod timer;

pub use machine_clock::{MachineClock, thread_cpu_time};
#[cfg(not(target_os = "linux"))]
pub use timer::Sleeper;
pub use timer::Timer;
#[cfg(target_os = "linux")]
pub use timer::TimerFd;

/// A clock that can wait until a given time.
pub trait Pacer: Clock + 'static {
    /// Waits until `due`; returns at once if it has passed. Only one task may wait at a time.
    fn until(&self, due: Stamp) -> impl Future<Output = ()>;
}

/// The run's own clock with this system's best timer.
#[derive(Debug)]
pub struct SystemPacer {
    clock: MonotonicClock,
    /// Time of the machine's clock at the zero of the run's clock.
    zero: Duration,
    timer: Timer,
}

impl SystemPacer {
    /// Creates a pacer for `clock`, on the current runtime.
    pub fn new(clock: MonotonicClock) -> io::Result<Self> {
        let timer = Timer::new()?;
        let machine = MachineClock.now().since(Stamp::ZERO);
        let zero = machine.saturating_sub(clock.now().since(Stamp::ZERO));
        Ok(Self { clock, zero, timer })
    }
}

impl Clock for SystemPacer {
    fn now(&self) -> Stamp {
        self.clock.now()
    }
}

impl Pacer for SystemPacer {
    async fn until(&self, due: Stamp) {
        while due > self.now() {
            self.timer.arm(due + self.zero);
            if self.timer.fired().await.is_err() {
                // The timer fails only when the runtime shuts down.
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Tokio's own clock and timer, up to two milliseconds late. It follows a paused clock, as tests
/// require.
#[derive(Clone, Copy, Debug)]
pub struct TokioPacer {
    start: Instant,
}

impl TokioPacer {
    /// Starts the clock.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for TokioPacer {
    fn now(&self) -> Stamp {
        Stamp::ZERO + self.start.elapsed()
    }
}

impl Pacer for TokioPacer {
    async fn until(&self, due: Stamp) {
        if due > self.now() {
            tokio::time::sleep_until(self.start + Duration::from_nanos(due.as_nanos())).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_is_never_early_and_the_past_is_now() {
        let pacer = SystemPacer::new(MonotonicClock::start()).unwrap();
        let due = pacer.now() + Duration::from_micros(300);
        pacer.until(due).await;
        assert!(pacer.now() >= due);
        pacer.until(Stamp::ZERO).await;
    }

    #[tokio::test]
    async fn arming_replaces_what_was_armed() {
        let timer = Timer::new().unwrap();
        let now = MachineClock.now();
        timer.arm(now + Duration::from_secs(3600));
        let soon = now + Duration::from_micros(200);
        timer.arm(soon);
        timer.fired().await.unwrap();
        assert!(MachineClock.now() >= soon);
    }
}
