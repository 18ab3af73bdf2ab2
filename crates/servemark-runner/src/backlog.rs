//! Limit on the finished records that are not written yet.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use servemark_core::Clock;
use tokio::sync::Notify;

/// Counts the bytes of finished records that are not written yet, and limits them.
///
/// A record's bytes are [added](Self::add) when its request finishes and [removed](Self::remove)
/// when the record is written. While the limit is reached, no further request is sent: a slow disk
/// delays requests that are still to be sent, never answers that are being read.
#[derive(Debug)]
pub struct Backlog {
    most: AtomicU64,
    behind: AtomicU64,
    eased: Notify,
    waited_ns: AtomicU64,
}

impl Backlog {
    /// Creates an empty backlog with a limit of `most` bytes.
    pub fn new(most: NonZeroU64) -> Self {
        let (behind, waited_ns) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { most: AtomicU64::new(most.get()), behind, eased: Notify::new(), waited_ns }
    }

    /// Adds a finished record of `bytes` bytes.
    pub fn add(&self, bytes: u64) {
        self.behind.fetch_add(bytes, Relaxed);
    }

    /// Removes a record of `bytes` bytes, added before, because it is written.
    pub fn remove(&self, bytes: u64) {
        let (before, most) = (self.behind.fetch_sub(bytes, Relaxed), self.most.load(Relaxed));
        if before >= most && before - bytes < most {
            self.eased.notify_waiters();
        }
    }

    /// Removes the limit, because records are no longer written; releases all waiting requests.
    pub fn remove_limit(&self) {
        self.most.store(u64::MAX, Relaxed);
        self.eased.notify_waiters();
    }

    /// Returns whether the limit is reached, so that no request may be sent.
    pub fn is_full(&self) -> bool {
        self.behind.load(Relaxed) >= self.most.load(Relaxed)
    }

    /// Returns how long requests waited for the backlog, summed over all requests.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited_ns.load(Relaxed))
    }

    /// Waits until a request may be sent, and counts the time.
    pub(crate) async fn room(&self, clock: &dyn Clock) {
        if !self.is_full() {
            return;
        }
        let since = clock.now();
        self.wait_for_room().await;
        let waited = clock.now().since(since).as_nanos();
        self.waited_ns.fetch_add(u64::try_from(waited).unwrap_or(u64::MAX), Relaxed);
    }

    async fn wait_for_room(&self) {
        loop {
            // Created before the check, so that a notification between the check and the wait is
            // not lost.
            let eased = self.eased.notified();
            if !self.is_full() {
                return;
            }
            eased.await;
        }
    }
}
