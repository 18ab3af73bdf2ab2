//! The sessions that are under way.

use std::fmt::Display;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::task::{JoinSet, coop};

use crate::flight::Outcome;

/// The sessions that are under way, each a task of the local set.
#[derive(Debug, Default)]
pub(crate) struct Airborne {
    tasks: JoinSet<Vec<Outcome>>,
    outcomes: Vec<Outcome>,
}

impl Airborne {
    /// Takes a session's first step here and now, which is to write its request. A task of its own
    /// goes on from there. Where many are due at once, those under way have their turn in between.
    pub(crate) async fn add<F>(&mut self, mut flight: Pin<Box<F>>)
    where
        F: Future<Output = Vec<Outcome>> + 'static,
    {
        match poll_fn(|cx| Poll::Ready(step(flight.as_mut(), cx))).await {
            Some(Poll::Ready(outcomes)) => self.outcomes.extend(outcomes),
            Some(Poll::Pending) => drop(self.tasks.spawn_local(flight)),
            None => died(&"it panicked"),
        }
        coop::consume_budget().await;
    }

    /// Waits for every session.
    pub(crate) async fn landed(self) -> Vec<Outcome> {
        let Self { mut tasks, mut outcomes } = self;
        while let Some(joined) = tasks.join_next().await {
            match joined {
                Ok(landed) => outcomes.extend(landed),
                Err(error) => died(&error),
            }
        }
        outcomes
    }
}

/// One step of a session; none if it panicked.
fn step<F: Future>(flight: Pin<&mut F>, cx: &mut Context<'_>) -> Option<Poll<F::Output>> {
    catch_unwind(AssertUnwindSafe(|| flight.poll(cx))).ok()
}

/// A session that panicked is reported and lost; the others are not.
fn died(how: &dyn Display) {
    tracing::error!(%how, "a session died and left no record");
}
