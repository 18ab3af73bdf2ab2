//! Sessions in flight.

use std::fmt::Display;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::task::{JoinSet, coop};

use crate::session_run::Outcome;

/// Sessions in flight, each a task of the local set.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    tasks: JoinSet<Vec<Outcome>>,
    outcomes: Vec<Outcome>,
}

impl InFlight {
    /// Polls a session for the first time at once, which writes its request; a task of its own
    /// continues it. If many sessions are due at once, the sessions in flight are polled in
    /// between.
    pub(crate) async fn add<F>(&mut self, mut session: Pin<Box<F>>)
    where
        F: Future<Output = Vec<Outcome>> + 'static,
    {
        match poll_fn(|cx| Poll::Ready(step(session.as_mut(), cx))).await {
            Some(Poll::Ready(outcomes)) => self.outcomes.extend(outcomes),
            Some(Poll::Pending) => drop(self.tasks.spawn_local(session)),
            None => log_panic(&"it panicked"),
        }
        coop::consume_budget().await;
    }

    /// Waits for all sessions to end.
    pub(crate) async fn join_all(self) -> Vec<Outcome> {
        let Self { mut tasks, mut outcomes } = self;
        while let Some(joined) = tasks.join_next().await {
            match joined {
                Ok(ended) => outcomes.extend(ended),
                Err(error) => log_panic(&error),
            }
        }
        outcomes
    }
}

/// Polls a session once; `None` if it panicked.
fn step<F: Future>(session: Pin<&mut F>, cx: &mut Context<'_>) -> Option<Poll<F::Output>> {
    catch_unwind(AssertUnwindSafe(|| session.poll(cx))).ok()
}

/// Logs a session that panicked. Its records are lost, those of the others are not.
fn log_panic(how: &dyn Display) {
    tracing::error!(%how, "a session died and left no record");
}
