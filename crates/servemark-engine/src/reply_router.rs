//! Delivers an engine's replies to the requests that wait for them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use servemark_core::{ErrorKind, RequestError, Stamp, Usage};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::RequestId;

/// An engine's message about one request.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The engine has received the request.
    Taken(Stamp),
    /// A piece of output.
    Piece(Piece),
    /// The answer is complete.
    Finished { at: Stamp, usage: Usage, reason: String },
    /// The request failed.
    Failed(RequestError),
}

impl Reply {
    /// Whether no reply follows this one.
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

/// The contents of a piece.
#[derive(Debug)]
pub(crate) enum Output {
    /// A single token, not yet decoded.
    Token(u32),
    /// Text and the number of tokens that it consists of.
    #[cfg_attr(not(unix), expect(dead_code, reason = "workers alone send text"))]
    Text { tokens: u32, text: String },
}

/// Delivers an engine's replies to the requests that wait for them.
#[derive(Debug, Default)]
pub(crate) struct ReplyRouter {
    state: Mutex<State>,
    /// When the engine last wrote something or was given requests, in nanoseconds on the run's
    /// clock.
    last_activity: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    waiting: HashMap<RequestId, UnboundedSender<Reply>>,
    /// Why the engine no longer replies.
    closed: Option<String>,
}

impl ReplyRouter {
    /// Registers a request that is about to be submitted, and returns the receiver of its replies.
    pub(crate) fn open(&self, id: RequestId) -> Result<UnboundedReceiver<Reply>, RequestError> {
        let mut state = self.state();
        if let Some(why) = &state.closed {
            return Err(RequestError::new(ErrorKind::Connect, why));
        }
        let (sender, receiver) = unbounded_channel();
        state.waiting.insert(id, sender);
        Ok(receiver)
    }

    /// Discards later replies to this request.
    pub(crate) fn forget(&self, id: RequestId) {
        self.state().waiting.remove(&id);
    }

    /// Delivers a reply, or discards it if its request is not registered.
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

    /// Records that the engine replies no more: every waiting request fails, and so does every
    /// later one.
    pub(crate) fn close(&self, kind: ErrorKind, why: &str) {
        let mut state = self.state();
        state.closed.get_or_insert_with(|| why.to_owned());
        for (_, sender) in state.waiting.drain() {
            let _ = sender.send(Reply::Failed(RequestError::new(kind, why)));
        }
    }

    /// Why the engine no longer replies, if so.
    pub(crate) fn closed(&self) -> Option<String> {
        self.state().closed.clone()
    }

    /// Records activity at `at`, which restarts the measurement of silence.
    pub(crate) fn record_activity(&self, at: Stamp) {
        self.last_activity.fetch_max(at.as_nanos(), Relaxed);
    }

    /// When the last activity was.
    pub(crate) fn last_activity(&self) -> Stamp {
        Stamp::from_nanos(self.last_activity.load(Relaxed))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
