//! Reconstructs the request bodies of a run after the run.

use std::collections::HashMap;
use std::sync::Arc;

use servemark_backends::{Backend, WireBackend};
use servemark_core::{ErrorKind, RequestError, RequestKey, RequestRecord, RunLog, Session};
use servemark_runner::{SessionSpec, sent_samples};

/// Requests that a run sent. A run does not keep the bodies: each is encoded again from the drawn
/// sample and, for later turns, from the answers that it repeats.
#[derive(Clone, Debug)]
pub struct SentRequests {
    sessions: Arc<[Session]>,
    backend: WireBackend,
    rules: SessionSpec,
}

/// Request bodies of a run.
#[derive(Debug)]
pub struct SentBodies<'a> {
    sent: &'a SentRequests,
    /// Measured requests of conversations by key; other requests need no earlier answers.
    answers: HashMap<RequestKey, &'a RequestRecord>,
}

impl SentRequests {
    pub(crate) fn new(sessions: Arc<[Session]>, backend: WireBackend, rules: SessionSpec) -> Self {
        Self { sessions, backend, rules }
    }

    /// Returns the bodies of the requests in a log.
    pub fn bodies<'a>(&'a self, log: &'a RunLog) -> SentBodies<'a> {
        let later = log.measured().filter(|record| record.is_of_conversation());
        SentBodies { sent: self, answers: later.map(|record| (record.key(), record)).collect() }
    }
}

impl SentBodies<'_> {
    /// Encodes the body of a measured request.
    pub fn body(&self, record: &RequestRecord) -> Result<Vec<u8>, RequestError> {
        let SentRequests { sessions, backend, rules } = self.sent;
        let unknown = || RequestError::new(ErrorKind::Encode, "there was no such request");
        let place = record.index.checked_rem(sessions.len()).ok_or_else(unknown)?;
        let before = (0..record.turn)
            .map_while(|turn| self.answers.get(&(record.index, turn)).copied())
            .collect::<Vec<_>>();
        let samples = sent_samples(&sessions[place], rules, &before);
        let sample = samples.into_iter().nth(record.turn as usize).ok_or_else(unknown)??;
        Ok(backend.encode(&sample)?.body.into())
    }
}
