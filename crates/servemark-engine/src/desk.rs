//! Where an engine's answers are sorted to whoever waits for them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use servemark_core::{ErrorKind, RequestError, Stamp, Usage};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::RequestId;

/// What an engine says of one request.
#[derive(Debug)]
pub(crate) enum Reply {
    /// It has it.
    Taken(Stamp),
    /// A piece of output.
    Piece(Piece),
    /// It is done.
    Finished { at: Stamp, usage: Usage, reason: String },
    /// It is not going to be.
    Failed(RequestError),
}

impl Reply {
    /// Whether nothing follows it.
    pub(crate) fn is_last(&self) -> bool {
        matches!(self, Self::Finished { .. } | Self::Failed(_))
    }
}

/// A piece of output.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) at: Stamp,
    pub(crate) output: Output,
}

/// What a piece is made of.
#[derive(Debug)]
pub(crate) enum Output {
    /// One token, whose text nobody knows yet.
    Token(u32),
    /// So many tokens and their text.
    Text { tokens: u32, text: String },
}

/// Where an engine's answers are sorted to whoever waits for them.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    state: Mutex<State>,
    /// When the engine last said anything, in nanoseconds of the run's clock.
    heard: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    waiting: HashMap<RequestId, UnboundedSender<Reply>>,
    /// Why nobody answers any more.
    closed: Option<String>,
}

impl Desk {
    /// The answers to a request that is about to be made.
    pub(crate) fn open(&self, id: RequestId) -> Result<UnboundedReceiver<Reply>, RequestError> {
        let mut state = self.state();
        if let Some(why) = &state.closed {
            return Err(RequestError::new(ErrorKind::Connect, why));
        }
        let (sender, receiver) = unbounded_channel();
        state.waiting.insert(id, sender);
        Ok(receiver)
    }

    /// Nobody waits for this request any more.
    pub(crate) fn forget(&self, id: RequestId) {
        self.state().waiting.remove(&id);
    }

    /// Passes on what the engine says. What nobody waits for is dropped.
    pub(crate) fn reply(&self, id: RequestId, reply: Reply) {
        let mut state = self.state();
        if reply.is_last() {
            if let Some(sender) = state.waiting.remove(&id) {
                let _ = sender.send(reply);
            }
        } else if let Some(sender) = state.waiting.get(&id) {
            let _ = sender.send(reply);
        }
    }

    /// The engine answers no more: every request that waits fails, and so does every later one.
    pub(crate) fn close(&self, kind: ErrorKind, why: &str) {
        let mut state = self.state();
        state.closed.get_or_insert_with(|| why.to_owned());
        for (_, sender) in state.waiting.drain() {
            let _ = sender.send(Reply::Failed(RequestError::new(kind, why)));
        }
    }

    /// Why nobody answers any more, if so.
    pub(crate) fn closed(&self) -> Option<String> {
        self.state().closed.clone()
    }

    /// The engine said something.
    pub(crate) fn hear(&self, at: Stamp) {
        self.heard.fetch_max(at.as_nanos(), Relaxed);
    }

    /// When it last did.
    pub(crate) fn heard(&self) -> Stamp {
        Stamp::from_nanos(self.heard.load(Relaxed))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
