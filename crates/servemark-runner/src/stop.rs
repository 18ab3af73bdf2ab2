//! Stops a run early.

use tokio::sync::watch;

/// How far a run is asked to stop. Each level includes the previous one.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Stop {
    /// The run continues.
    #[default]
    No,
    /// The run sends nothing more and waits for the requests in flight.
    Drain,
    /// The run abandons the requests in flight.
    Now,
}

/// Asks a run to stop. Copies belong to the same run.
#[derive(Clone, Debug)]
pub struct StopHandle {
    level: watch::Sender<Stop>,
}

/// The receiving side of a [`StopHandle`].
#[derive(Clone, Debug)]
pub struct StopSignal {
    level: watch::Receiver<Stop>,
}

impl StopHandle {
    /// Creates a handle that has not asked for anything yet.
    pub fn new() -> Self {
        Self { level: watch::Sender::new(Stop::No) }
    }

    /// Asks for the next level, first to drain, then to stop now; returns the new level.
    pub fn escalate(&self) -> Stop {
        self.level.send_modify(|level| {
            *level = if *level == Stop::No { Stop::Drain } else { Stop::Now };
        });
        self.level()
    }

    /// Asks for `level`, unless it or a higher level was asked for before.
    pub fn raise(&self, level: Stop) {
        self.level.send_if_modified(|current| {
            let is_more = *current < level;
            *current = level.max(*current);
            is_more
        });
    }

    /// Returns the level that was asked for.
    pub fn level(&self) -> Stop {
        *self.level.borrow()
    }

    /// Returns the receiving side for a run.
    pub fn signal(&self) -> StopSignal {
        StopSignal { level: self.level.subscribe() }
    }
}

impl Default for StopHandle {
    fn default() -> Self {
        Self::new()
    }
}

impl StopSignal {
    /// Returns whether at least `level` was asked for.
    pub fn is(&self, level: Stop) -> bool {
        *self.level.borrow() >= level
    }

    /// Returns the level that was asked for.
    pub(crate) fn level(&self) -> Stop {
        *self.level.borrow()
    }

    /// Waits until at least `level` is asked for; forever if all handles are dropped before that.
    pub async fn reached(&self, level: Stop) {
        let current = self.level.clone().wait_for(|current| *current >= level).await.is_ok();
        if !current {
            std::future::pending::<()>().await;
        }
    }
}
