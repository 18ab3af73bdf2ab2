//! How far the keeping of records is behind.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use servemark_core::Clock;
use tokio::sync::Notify;

/// How many bytes of finished records are not kept yet, and how many may be.
///
/// Whoever finishes a request [adds](Self::add) its record and goes on. Whoever keeps records
/// [takes](Self::remove) each off when it is kept. While there are too many, no further request
/// departs: a disk that is too slow delays what is to be sent, never what is being read.
#[derive(Debug)]
pub struct Backlog {
    most: AtomicU64,
    behind: AtomicU64,
    eased: Notify,
    waited_ns: AtomicU64,
}

impl Backlog {
    /// Nothing is behind, and fewer than `most` bytes may be.
    pub fn new(most: NonZeroU64) -> Self {
        let (behind, waited_ns) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { most: AtomicU64::new(most.get()), behind, eased: Notify::new(), waited_ns }
    }

    /// A record of so many bytes is to be kept.
    pub fn add(&self, bytes: u64) {
        self.behind.fetch_add(bytes, Relaxed);
    }

    /// A record of so many bytes, added before, is kept.
    pub fn remove(&self, bytes: u64) {
        let (before, most) = (self.behind.fetch_sub(bytes, Relaxed), self.most.load(Relaxed));
        if before >= most && before - bytes < most {
            self.eased.notify_waiters();
        }
    }

    /// Nobody keeps records any more, and nobody waits for that.
    pub fn lift(&self) {
        self.most.store(u64::MAX, Relaxed);
        self.eased.notify_waiters();
    }

    /// Whether no request may depart.
    pub fn is_full(&self) -> bool {
        self.behind.load(Relaxed) >= self.most.load(Relaxed)
    }

    /// How long requests waited for it, all of them together.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited_ns.load(Relaxed))
    }

    /// Waits until a request may depart.
    pub(crate) async fn room(&self, clock: &impl Clock) {
        if !self.is_full() {
            return;
        }
        let since = clock.now();
        self.ease().await;
        let waited = clock.now().since(since).as_nanos();
        self.waited_ns.fetch_add(u64::try_from(waited).unwrap_or(u64::MAX), Relaxed);
    }

    async fn ease(&self) {
        loop {
            // It hears what is said from here on, so nothing falls between the look and the wait.
            let eased = self.eased.notified();
            if !self.is_full() {
                return;
            }
            eased.await;
        }
    }
}
