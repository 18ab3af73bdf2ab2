//! How a run is told to stop early.

use tokio::sync::watch;

/// How far a run is asked to stop. Each level includes the one before.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Stop {
    /// Go on.
    #[default]
    No,
    /// Send nothing more, and wait for what is in flight.
    Drain,
    /// Abandon what is in flight.
    Now,
}

/// Asks a run to stop. Copies ask the same run.
#[derive(Clone, Debug)]
pub struct StopHandle {
    level: watch::Sender<Stop>,
}

/// A run's ear for its [`StopHandle`].
#[derive(Clone, Debug)]
pub struct StopSignal {
    level: watch::Receiver<Stop>,
}

impl StopHandle {
    /// A handle that has asked for nothing yet.
    pub fn new() -> Self {
        Self { level: watch::Sender::new(Stop::No) }
    }

    /// Asks for one level more: first to drain, then to stop now.
    pub fn escalate(&self) -> Stop {
        self.level.send_modify(|level| {
            *level = if *level == Stop::No { Stop::Drain } else { Stop::Now };
        });
        self.level()
    }

    /// Asks for this level, unless it was asked for before.
    pub fn raise(&self, level: Stop) {
        self.level.send_if_modified(|asked| {
            let is_more = *asked < level;
            *asked = level.max(*asked);
            is_more
        });
    }

    /// What was asked for so far.
    pub fn level(&self) -> Stop {
        *self.level.borrow()
    }

    /// An ear for this handle.
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
    /// Whether at least `level` was asked for.
    pub fn is(&self, level: Stop) -> bool {
        *self.level.borrow() >= level
    }

    /// What was asked for so far.
    pub(crate) fn level(&self) -> Stop {
        *self.level.borrow()
    }

    /// Waits until at least `level` is asked for; for ever if every handle is gone before that.
    pub async fn reached(&self, level: Stop) {
        let asked = self.level.clone().wait_for(|asked| *asked >= level).await.is_ok();
        if !asked {
            std::future::pending::<()>().await;
        }
    }
}
