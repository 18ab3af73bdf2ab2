//! The sessions that are under way.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use futures_util::future::{CatchUnwind, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::task::coop;

use crate::flight::Outcome;

/// The sessions that are under way. All are steps of one task: a chunk wakes its own session, and
/// no queue of the runtime is between.
#[derive(Debug)]
pub(crate) struct Airborne<F> {
    flights: FuturesUnordered<Guarded<F>>,
    outcomes: Vec<Outcome>,
}

type Guarded<F> = CatchUnwind<AssertUnwindSafe<Pin<Box<F>>>>;

impl<F: Future<Output = Vec<Outcome>>> Airborne<F> {
    pub(crate) fn new() -> Self {
        Self { flights: FuturesUnordered::new(), outcomes: Vec::new() }
    }

    /// Takes a session's first step here and now, which is to write its request. Where many are
    /// due at once, those under way have their turn in between.
    pub(crate) async fn add(&mut self, flight: Pin<Box<F>>) {
        let mut flight = AssertUnwindSafe(flight).catch_unwind();
        match poll_fn(|cx| Poll::Ready(flight.poll_unpin(cx))).await {
            Poll::Ready(landed) => self.land(landed),
            Poll::Pending => self.flights.push(flight),
        }
        self.meanwhile(coop::consume_budget()).await;
    }

    /// Waits for `work`, and lets the sessions go on until then.
    pub(crate) async fn meanwhile<W: Future>(&mut self, work: W) -> W::Output {
        let mut work = pin!(work);
        poll_fn(|cx| {
            let done = work.as_mut().poll(cx);
            if done.is_pending() {
                let _ = self.poll_all(cx);
            }
            done
        })
        .await
    }

    /// Waits for every session.
    pub(crate) async fn landed(mut self) -> Vec<Outcome> {
        poll_fn(|cx| self.poll_all(cx)).await;
        self.outcomes
    }

    /// Lets every session that was woken go on. Ready when none is under way.
    fn poll_all(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Poll::Ready(landed) = self.flights.poll_next_unpin(cx) {
            match landed {
                Some(landed) => self.land(landed),
                None => return Poll::Ready(()),
            }
        }
        Poll::Pending
    }

    /// A session that panicked is reported and lost; the others are not.
    fn land<E>(&mut self, landed: Result<Vec<Outcome>, E>) {
        if let Ok(outcomes) = landed {
            self.outcomes.extend(outcomes);
        } else {
            tracing::error!("a session panicked and left no record");
        }
    }
}
