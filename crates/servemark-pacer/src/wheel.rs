//! Tokio's timer wheel, for systems that offer nothing better: up to two milliseconds late.

use std::io;

use servemark_core::{Clock, MonotonicClock, Stamp};

use super::Pacer;

/// Waits on Tokio's wheel. Its clock is the run's [`MonotonicClock`].
#[derive(Debug)]
pub struct WheelPacer {
    clock: MonotonicClock,
}

impl WheelPacer {
    /// A pacer for `clock`.
    pub fn new(clock: MonotonicClock) -> io::Result<Self> {
        Ok(Self { clock })
    }
}

impl Clock for WheelPacer {
    fn now(&self) -> Stamp {
        self.clock.now()
    }
}

impl Pacer for WheelPacer {
    async fn until(&self, due: Stamp) {
        if due > self.now() {
            tokio::time::sleep_until(self.clock.instant(due).into()).await;
        }
    }
}
