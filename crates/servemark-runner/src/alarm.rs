//! Many tasks wait on one pacer.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::convert::Infallible;

use servemark_core::Stamp;
use servemark_pacer::Pacer;
use tokio::sync::{Notify, oneshot};

/// A pacer on which many tasks may wait: the one who [keeps](Self::keep) it wakes each when it is
/// due, in order, and in the order of asking where two are due at once.
#[derive(Debug)]
pub(crate) struct Alarm<P> {
    pacer: P,
    bells: RefCell<BTreeMap<(Stamp, u64), oneshot::Sender<()>>>,
    asked: Cell<u64>,
    changed: Notify,
}

impl<P: Pacer> Alarm<P> {
    pub(crate) fn new(pacer: P) -> Self {
        Self { pacer, bells: RefCell::default(), asked: Cell::default(), changed: Notify::new() }
    }

    /// The time.
    pub(crate) fn now(&self) -> Stamp {
        self.pacer.now()
    }

    /// The clock that it goes by.
    pub(crate) fn clock(&self) -> &P {
        &self.pacer
    }

    /// Waits until `due`; at once if it has passed.
    pub(crate) async fn until(&self, due: Stamp) {
        if due > self.now() {
            // Whoever drops the alarm drops those who wait on it.
            let _ = self.hang(due).await;
        }
    }

    /// The same while nobody else waits and nobody keeps it.
    pub(crate) async fn alone_until(&self, due: Stamp) {
        self.pacer.until(due).await;
    }

    /// Wakes whoever is due, for as long as it is polled.
    pub(crate) async fn keep(&self) -> Infallible {
        loop {
            let next = self.bells.borrow().first_key_value().map(|(&(due, _), _)| due);
            tokio::select! {
                biased;
                () = self.until_next(next) => self.ring(),
                () = self.changed.notified() => {}
            }
        }
    }

    async fn until_next(&self, next: Option<Stamp>) {
        match next {
            Some(due) => self.pacer.until(due).await,
            None => std::future::pending().await,
        }
    }

    fn hang(&self, due: Stamp) -> oneshot::Receiver<()> {
        let (bell, rung) = oneshot::channel();
        let order = self.asked.replace(self.asked.get() + 1);
        self.bells.borrow_mut().insert((due, order), bell);
        self.changed.notify_one();
        rung
    }

    fn ring(&self) {
        let (now, mut bells) = (self.now(), self.bells.borrow_mut());
        while let Some(first) = bells.first_entry()
            && first.key().0 <= now
        {
            // Somebody who no longer waits does not hear it.
            let _ = first.remove().send(());
        }
    }
}
