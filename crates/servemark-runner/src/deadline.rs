//! The end of the time in which requests are sent.

use std::time::Duration;

use servemark_core::Stamp;
use tokio::sync::watch;

/// The end of the time in which requests are sent, from when on it is known when that began. A copy
/// is the same run's.
#[derive(Clone, Debug)]
pub(crate) struct Deadline {
    lasts: Option<Duration>,
    at: watch::Sender<Option<Stamp>>,
}

impl Deadline {
    /// So long after a beginning that is still to come; never without a time.
    pub(crate) fn of(lasts: Option<Duration>) -> Self {
        Self { lasts, at: watch::Sender::new(None) }
    }

    /// The time counts from here on, unless it does already.
    pub(crate) fn begin(&self, began: Stamp) {
        let Some(lasts) = self.lasts else { return };
        self.at.send_if_modified(|at| {
            let is_first = at.is_none();
            at.get_or_insert(began + lasts);
            is_first
        });
    }

    /// Whether the time is over at an instant.
    pub(crate) fn is_past(&self, now: Stamp) -> bool {
        self.lasts.is_some() && self.at.borrow().is_some_and(|at| now >= at)
    }

    /// The end, once it is known when the time began.
    pub(crate) async fn known(&self) -> Stamp {
        let mut ear = self.at.subscribe();
        loop {
            if let Some(at) = *ear.borrow_and_update() {
                return at;
            }
            // The sender is this deadline's own, so it is there.
            let _ = ear.changed().await;
        }
    }
}
