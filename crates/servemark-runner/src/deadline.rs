//! The end of the time in which requests are sent.

use std::time::Duration;

use servemark_core::Stamp;
use tokio::sync::watch;

/// The end of the time in which requests are sent. It is known once that time has begun. Clones
/// belong to the same run.
#[derive(Clone, Debug)]
pub(crate) struct Deadline {
    lasts: Option<Duration>,
    at: watch::Sender<Option<Stamp>>,
}

impl Deadline {
    /// Creates a deadline `lasts` after a beginning that is still to come; `None` means never.
    pub(crate) fn of(lasts: Option<Duration>) -> Self {
        Self { lasts, at: watch::Sender::new(None) }
    }

    /// Starts the time at `began`, unless it has already started.
    pub(crate) fn begin(&self, began: Stamp) {
        let Some(lasts) = self.lasts else { return };
        self.at.send_if_modified(|at| {
            let is_first = at.is_none();
            at.get_or_insert(began + lasts);
            is_first
        });
    }

    /// Returns whether the time is over at `now`.
    pub(crate) fn is_past(&self, now: Stamp) -> bool {
        self.lasts.is_some() && self.at.borrow().is_some_and(|at| now >= at)
    }

    /// Returns the time after which no request is sent. Waits until the measurement has begun, and
    /// for ever if there is no such time.
    pub(crate) async fn end(&self) -> Stamp {
        let mut receiver = self.at.subscribe();
        loop {
            if let Some(at) = *receiver.borrow_and_update() {
                return at;
            }
            // This deadline owns the sender, so the channel is open.
            let _ = receiver.changed().await;
        }
    }
}
