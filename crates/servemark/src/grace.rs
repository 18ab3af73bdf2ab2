//! How long requests in flight may take after SIGTERM or SIGHUP.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// How long requests in flight may take to finish after SIGTERM or SIGHUP. Clones share the value,
/// which may be set after the program began to receive signals.
#[derive(Clone, Debug)]
pub struct Grace {
    milliseconds: Arc<AtomicU64>,
}

impl Grace {
    /// The grace where none is asked for. Supervisors usually wait ten seconds or more before they
    /// kill a program, so what is left is for the tables and the files.
    pub const DEFAULT: Duration = Duration::from_secs(5);

    /// The grace as it is now.
    pub fn get(&self) -> Duration {
        Duration::from_millis(self.milliseconds.load(Relaxed))
    }

    /// Changes the grace, to the millisecond.
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
