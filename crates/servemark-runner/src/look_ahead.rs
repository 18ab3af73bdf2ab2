//! Encodes requests before they are due.

use std::collections::VecDeque;
use std::sync::Arc;

use servemark_core::{RequestError, Session, Transport};

use crate::conversation::Conversation;

/// What became of a sample that was encoded.
pub(crate) type Prepared<T> = Result<<T as Transport>::Prepared, RequestError>;

/// Keeps the openings of the next sessions encoded, at most so many, so that nothing but I/O is
/// left to do when one is due and large payloads are never all held at once.
pub(crate) struct LookAhead<T: Transport> {
    transport: Arc<T>,
    sessions: Arc<[Session]>,
    encoded: usize,
    ready: VecDeque<Prepared<T>>,
    most: usize,
}

impl<T: Transport> LookAhead<T> {
    pub(crate) fn new(transport: Arc<T>, sessions: Arc<[Session]>, most: usize) -> Self {
        let mut ahead = Self { transport, sessions, encoded: 0, ready: VecDeque::new(), most };
        ahead.fill();
        ahead
    }

    /// The next opening in the order of the sessions.
    pub(crate) fn next(&mut self) -> Option<Prepared<T>> {
        self.ready.pop_front().or_else(|| self.encode())
    }

    /// Encodes up to the bound again. Cheap to call when there is nothing to do.
    pub(crate) fn fill(&mut self) {
        while self.ready.len() < self.most
            && let Some(prepared) = self.encode()
        {
            self.ready.push_back(prepared);
        }
    }

    fn encode(&mut self) -> Option<Prepared<T>> {
        let session = self.sessions.get(self.encoded)?;
        self.encoded += 1;
        Some(Conversation::opening(session).and_then(|sample| self.transport.prepare(&sample)))
    }
}
