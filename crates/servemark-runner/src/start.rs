//! How the shards of a run start together.

use std::io;
use std::time::Duration;

use servemark_core::{Clock, Stamp};
use tokio::sync::{mpsc, watch};

/// What a shard waits for when it is ready.
#[derive(Debug)]
pub(crate) enum Start<'a> {
    /// It is alone and starts at once.
    AtOnce,
    /// It waits for the others and says when.
    Leading(&'a mut Leader),
    /// It waits until it is told when.
    Following(Follower),
}

/// Who says when.
#[derive(Debug)]
pub(crate) struct Leader {
    go: watch::Sender<Option<Stamp>>,
    /// Closed as soon as every follower is ready or gone. What it gives is why one cannot start.
    ready: mpsc::Receiver<io::Error>,
}

/// Who is told.
#[derive(Clone, Debug)]
pub(crate) struct Follower {
    go: watch::Receiver<Option<Stamp>>,
    ready: mpsc::Sender<io::Error>,
}

/// A leader, and a follower to be copied. The leader waits for every copy.
pub(crate) fn together() -> (Leader, Follower) {
    let ((go, told), (tell, ready)) = (watch::channel(None), mpsc::channel(1));
    (Leader { go, ready }, Follower { go: told, ready: tell })
}

impl Start<'_> {
    /// The instant that all start at, once all are ready. It fails if one of them cannot start.
    pub(crate) async fn agree(self, clock: &impl Clock) -> io::Result<Stamp> {
        match self {
            Self::AtOnce => Ok(clock.now()),
            Self::Leading(leader) => leader.say(clock).await,
            Self::Following(follower) => follower.hear().await.ok_or_else(leaderless),
        }
    }
}

impl Leader {
    async fn say(&mut self, clock: &impl Clock) -> io::Result<Stamp> {
        if let Some(error) = self.ready.recv().await {
            return Err(error);
        }
        let start = clock.now() + NOTICE;
        self.go.send_replace(Some(start));
        Ok(start)
    }
}

impl Follower {
    /// Says why this one cannot start; then nobody does.
    pub(crate) async fn fail(self, error: io::Error) {
        // One failure is enough, and nobody may be there to hear it.
        let _ = self.ready.send(error).await;
    }

    /// Hears when the leader is gone, whatever becomes of this one.
    pub(crate) fn ear(&self) -> Ear {
        Ear(self.go.clone())
    }

    async fn hear(self) -> Option<Stamp> {
        let Self { mut go, ready } = self;
        drop(ready);
        let told = go.wait_for(Option::is_some).await;
        told.ok().and_then(|start| *start)
    }
}

fn leaderless() -> io::Error {
    io::Error::other("nobody is there any more to say when to start")
}

/// Hears of a leader's end.
#[derive(Debug)]
pub(crate) struct Ear(watch::Receiver<Option<Stamp>>);

impl Ear {
    /// Waits until the leader is gone.
    pub(crate) async fn abandoned(mut self) {
        while self.0.changed().await.is_ok() {}
    }
}

/// How far ahead the start is: time for every thread to wake up and arm its timer.
const NOTICE: Duration = Duration::from_millis(10);
