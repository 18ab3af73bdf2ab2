//! Waiting for an absolute instant, on a timer that keeps it.
//!
//! A [`Pacer`] is a clock that can be waited for. The load generator sends by one and the
//! ground-truth server answers by one, so that neither adds its own lateness to what is measured.
//! Relative sleeps are not offered: their errors add up.

use std::time::Duration;

use servemark_core::{Clock, Stamp};
use tokio::time::Instant;

#[cfg(target_os = "linux")]
mod timer_fd;
#[cfg(not(target_os = "linux"))]
mod wheel;

/// A clock that can be waited for.
pub trait Pacer: Clock + 'static {
    /// Waits until `due`; at once if it has passed. One task waits at a time.
    fn until(&self, due: Stamp) -> impl Future<Output = ()>;
}

/// Tokio's own clock and timer, up to two milliseconds late. It follows a paused clock, which is
/// what tests want of it.
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

/// The best pacer of this system.
#[cfg(target_os = "linux")]
pub use timer_fd::TimerFdPacer as SystemPacer;

/// The best pacer of this system.
#[cfg(not(target_os = "linux"))]
pub use wheel::WheelPacer as SystemPacer;
