//! Places of a concurrency limit that several processes share.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Share;

/// The places of a concurrency limit that one of several processes has at the moment. Another
/// process may get those that it does not need.
///
/// ```
/// use std::num::NonZeroUsize;
///
/// use servemark_runner::{Share, SharedPlaces};
///
/// let [two, five] = [2, 5].map(|n| NonZeroUsize::new(n).unwrap());
/// let places = SharedPlaces::of(Share::of_rank(1, two), five);
/// assert_eq!(places.counts().held, 2);
/// places.set_target(4);
/// assert_eq!((places.counts().held, places.counts().free), (4, 4));
/// ```
#[derive(Debug)]
pub struct SharedPlaces {
    pub(crate) gate: Arc<Semaphore>,
    held: AtomicUsize,
    waiting: AtomicUsize,
}

/// Numbers of places.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PlaceCounts {
    /// Places that the process has.
    pub held: usize,
    /// Places that it has and does not use.
    pub free: usize,
    /// Sessions that are due and wait for a place.
    pub waiting: usize,
}

impl SharedPlaces {
    /// Creates the places with which a process starts: its share of the limit.
    pub fn of(share: Share, limit: NonZeroUsize) -> Self {
        let held = share.of(limit.get().min(Semaphore::MAX_PERMITS));
        Self {
            gate: Arc::new(Semaphore::new(held)),
            held: held.into(),
            waiting: AtomicUsize::default(),
        }
    }

    /// Returns the current numbers.
    pub fn counts(&self) -> PlaceCounts {
        PlaceCounts {
            held: self.held.load(Relaxed),
            free: self.gate.available_permits(),
            waiting: self.waiting.load(Relaxed),
        }
    }

    /// Takes more places, or gives up free ones, until the process has `target` places. A place that
    /// is in use is not given up; the next call may find it free. One thread at a time may call this.
    pub fn set_target(&self, target: usize) {
        let held = self.held.load(Relaxed);
        if target > held {
            self.gate.add_permits(target - held);
            self.held.store(target, Relaxed);
        } else {
            let given_up = self.gate.forget_permits(held - target);
            self.held.store(held - given_up, Relaxed);
        }
    }

    /// Waits for a place.
    pub(crate) async fn acquire(&self) -> OwnedSemaphorePermit {
        if let Ok(permit) = Arc::clone(&self.gate).try_acquire_owned() {
            return permit;
        }
        let _waiting = Waiting::begin(&self.waiting);
        Arc::clone(&self.gate).acquire_owned().await.expect("the gate is never closed")
    }
}

/// Counts a waiting session until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(held: usize, free: usize, waiting: usize) -> PlaceCounts {
        PlaceCounts { held, free, waiting }
    }

    #[tokio::test]
    async fn places_in_use_stay_and_waiting_sessions_get_new_ones() {
        let places = Arc::new(SharedPlaces::of(Share::WHOLE, NonZeroUsize::new(3).unwrap()));
        let first = places.acquire().await;
        let second = places.acquire().await;
        places.set_target(1);
        assert_eq!(places.counts(), counts(2, 0, 0));
        drop(second);
        places.set_target(1);
        assert_eq!(places.counts(), counts(1, 0, 0));
        let waiting = tokio::spawn({
            let places = Arc::clone(&places);
            async move { drop(places.acquire().await) }
        });
        tokio::task::yield_now().await;
        assert_eq!(places.counts(), counts(1, 0, 1));
        places.set_target(2);
        waiting.await.unwrap();
        assert_eq!(places.counts(), counts(2, 1, 0));
        drop(first);
    }

    #[tokio::test]
    async fn a_session_that_gives_up_waiting_is_not_counted() {
        let places = SharedPlaces::of(Share::WHOLE, NonZeroUsize::MIN);
        let _only = places.acquire().await;
        {
            let mut waiting = std::pin::pin!(places.acquire());
            assert!(futures_poll(&mut waiting).await);
            assert_eq!(places.counts().waiting, 1);
        }
        assert_eq!(places.counts().waiting, 0);
    }

    /// Polls a future once and returns whether it is pending.
    async fn futures_poll(future: &mut (impl Future + Unpin)) -> bool {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context).is_pending())
        })
        .await
    }
}
