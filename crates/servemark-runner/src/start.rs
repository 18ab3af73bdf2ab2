//! The common start of the shards of a run.

use std::fmt::Debug;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use servemark_core::{Clock, Stamp};
use tokio::sync::{mpsc, watch};

/// Sets the start of a measurement that several processes share.
pub trait StartBarrier: Debug + Send + Sync {
    /// Returns the common start, on the clock of this process, once every process is ready. It is
    /// called when this process is; an error keeps it from sending anything.
    fn start(&self) -> StartFuture<'_>;
}

/// A common start that is still to be agreed on.
pub type StartFuture<'a> = Pin<Box<dyn Future<Output = io::Result<Stamp>> + Send + 'a>>;

/// What a shard waits for when it is ready to start.
#[derive(Debug)]
pub(crate) enum Start<'a> {
    /// The shard is alone: it starts at once, or when all processes are ready.
    Alone(Option<&'a dyn StartBarrier>),
    /// The shard waits until the others are ready and sets the start.
    Leading(&'a mut Leader, Option<&'a dyn StartBarrier>),
    /// The shard waits until the leader has set the start.
    Following(Follower),
}

/// The side of the leading shard, which sets the start.
#[derive(Debug)]
pub(crate) struct Leader {
    go: watch::Sender<Option<Stamp>>,
    /// Closed when every follower is ready or gone. A received error says why a follower cannot
    /// start.
    ready: mpsc::Receiver<io::Error>,
}

/// The side of a shard that waits for the leader.
#[derive(Clone, Debug)]
pub(crate) struct Follower {
    go: watch::Receiver<Option<Stamp>>,
    ready: mpsc::Sender<io::Error>,
}

/// Creates a leader and a follower to clone. The leader waits for every clone.
pub(crate) fn together() -> (Leader, Follower) {
    let ((go, receiver), (sender, ready)) = (watch::channel(None), mpsc::channel(1));
    (Leader { go, ready }, Follower { go: receiver, ready: sender })
}

impl Start<'_> {
    /// Returns the common start, once all shards are ready; an error if one of them cannot start.
    pub(crate) async fn agree(self, clock: &dyn Clock) -> io::Result<Stamp> {
        match self {
            Self::Alone(None) => Ok(clock.now()),
            Self::Alone(Some(barrier)) => barrier.start().await,
            Self::Leading(leader, barrier) => leader.set_start(clock, barrier).await,
            Self::Following(follower) => {
                follower.wait_for_start().await.ok_or_else(no_leader_error)
            }
        }
    }
}

impl Leader {
    async fn set_start(
        &mut self,
        clock: &dyn Clock,
        barrier: Option<&dyn StartBarrier>,
    ) -> io::Result<Stamp> {
        if let Some(error) = self.ready.recv().await {
            return Err(error);
        }
        let start = match barrier {
            Some(barrier) => barrier.start().await?,
            None => clock.now() + NOTICE,
        };
        self.go.send_replace(Some(start));
        Ok(start)
    }
}

impl Follower {
    /// Reports why this shard cannot start; then no shard starts.
    pub(crate) async fn fail(self, error: io::Error) {
        // One failure is enough, and the leader may already be gone.
        let _ = self.ready.send(error).await;
    }

    /// Returns a signal that fires when the leader is gone; it outlives this follower.
    pub(crate) fn abort_signal(&self) -> AbortSignal {
        AbortSignal(self.go.clone())
    }

    async fn wait_for_start(self) -> Option<Stamp> {
        let Self { mut go, ready } = self;
        drop(ready);
        let records = go.wait_for(Option::is_some).await;
        records.ok().and_then(|start| *start)
    }
}

fn no_leader_error() -> io::Error {
    io::Error::other("the leading shard ended before it set the start")
}

/// Signals the end of the leader.
#[derive(Debug)]
pub(crate) struct AbortSignal(watch::Receiver<Option<Stamp>>);

impl AbortSignal {
    /// Waits until the leader is gone.
    pub(crate) async fn abandoned(mut self) {
        while self.0.changed().await.is_ok() {}
    }
}

/// Time from setting the start to the start: every thread has to wake up and arm its timer.
const NOTICE: Duration = Duration::from_millis(10);
