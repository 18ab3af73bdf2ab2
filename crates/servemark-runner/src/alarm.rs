//! Lets many tasks wait on one pacer.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;

use servemark_core::{Clock, Stamp};
use servemark_pacer::Pacer;
use tokio::sync::{Notify, oneshot};

use crate::erased::AnyPacer;

/// A pacer that many tasks can wait on. The task that polls [`keep`](Self::keep) wakes the others
/// at their due times, in order; those with equal due times in the order in which they asked.
pub(crate) struct Alarm {
    pacer: Box<dyn AnyPacer>,
    waiting: RefCell<BTreeMap<(Stamp, u64), oneshot::Sender<()>>>,
    due_ns: Cell<u64>,
    changed: Notify,
}

impl Alarm {
    pub(crate) fn new(pacer: impl Pacer) -> Self {
        Self {
            pacer: Box::new(pacer),
            waiting: RefCell::default(),
            due_ns: Cell::default(),
            changed: Notify::new(),
        }
    }

    /// Returns the current time.
    pub(crate) fn now(&self) -> Stamp {
        self.pacer.now()
    }

    /// Returns the clock that the pacer uses.
    pub(crate) fn clock(&self) -> &dyn Clock {
        self.pacer.as_ref()
    }

    /// Waits until `due`; returns at once if it has passed.
    pub(crate) async fn until(&self, due: Stamp) {
        if due > self.now() {
            // The sender is dropped only with the alarm, and with it the tasks that wait on it.
            let _ = self.enqueue(due).await;
        }
    }

    /// Waits until `due` while no other task waits and [`keep`](Self::keep) is not polled.
    pub(crate) async fn alone_until(&self, due: Stamp) {
        self.pacer.wait_until(due).await;
    }

    /// Wakes the waiting tasks at their due times, as long as it is polled.
    pub(crate) async fn keep(&self) -> Infallible {
        loop {
            let next = self.waiting.borrow().first_key_value().map(|(&(due, _), _)| due);
            tokio::select! {
                biased;
                () = self.until_next(next) => self.wake_due(),
                () = self.changed.notified() => {}
            }
        }
    }

    async fn until_next(&self, next: Option<Stamp>) {
        match next {
            Some(due) => self.pacer.wait_until(due).await,
            None => std::future::pending().await,
        }
    }

    fn enqueue(&self, due: Stamp) -> oneshot::Receiver<()> {
        let (wake, woken) = oneshot::channel();
        let order = self.due_ns.replace(self.due_ns.get() + 1);
        self.waiting.borrow_mut().insert((due, order), wake);
        self.changed.notify_one();
        woken
    }

    fn wake_due(&self) {
        let (now, mut waiting) = (self.now(), self.waiting.borrow_mut());
        while let Some(first) = waiting.first_entry()
            && first.key().0 <= now
        {
            // The receiver is gone if its task no longer waits.
            let _ = first.remove().send(());
        }
    }
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alarm").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}
