//! Grace period for requests in flight after SIGTERM or SIGHUP.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Time that requests in flight have to finish after SIGTERM or SIGHUP. Clones share the value,
/// which may be set after the program began to receive signals.
#[derive(Clone, Debug)]
pub struct Grace {
    milliseconds: Arc<AtomicU64>,
}

impl Grace {
    /// Default grace period. Supervisors usually wait ten seconds or more before they kill a
    /// program, which leaves time to write tables and files.
    pub const DEFAULT: Duration = Duration::from_secs(5);

    /// Returns the current grace period.
    pub fn get(&self) -> Duration {
        Duration::from_millis(self.milliseconds.load(Relaxed))
    }

    /// Sets the grace period, rounded down to milliseconds.
    pub fn set(&self, grace: Duration) {
        let milliseconds = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        self.milliseconds.store(milliseconds, Relaxed);
    }
}

impl Default for Grace {
    fn default() -> Self {
        let grace = Self { milliseconds: Arc::default() };
        grace.set(Self::DEFAULT);
        grace
    }
}
