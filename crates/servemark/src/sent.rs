//! What a run sent, put again when somebody asks for it.

use std::collections::HashMap;
use std::sync::Arc;

use servemark_backends::{Backend, WireBackend};
use servemark_core::{ErrorKind, RequestError, RequestKey, RequestRecord, RunLog, Session};
use servemark_runner::{SessionSpec, asked};

/// What a run sent. No run keeps its bodies: each is made again of what was drawn, and of the answers
/// that it repeats.
#[derive(Clone, Debug)]
pub struct Sent {
    sessions: Arc<[Session]>,
    backend: WireBackend,
    rules: SessionSpec,
}

/// The bodies of a run's requests.
#[derive(Debug)]
pub struct SentBodies<'a> {
    sent: &'a Sent,
    /// The measured requests of conversations; of others nothing has to be looked up.
    answers: HashMap<RequestKey, &'a RequestRecord>,
}

impl Sent {
    pub(crate) fn new(sessions: Arc<[Session]>, backend: WireBackend, rules: SessionSpec) -> Self {
        Self { sessions, backend, rules }
    }

    /// The bodies of the requests that a log is of.
    pub fn bodies<'a>(&'a self, log: &'a RunLog) -> SentBodies<'a> {
        let later = log.measured().filter(|record| record.is_of_conversation());
        SentBodies { sent: self, answers: later.map(|record| (record.key(), record)).collect() }
    }
}

impl SentBodies<'_> {
    /// The body of a request of the measurement.
    pub fn body(&self, record: &RequestRecord) -> Result<Vec<u8>, RequestError> {
        let Sent { sessions, backend, rules } = self.sent;
        let unknown = || RequestError::new(ErrorKind::Encode, "there was no such request");
        let place = record.index.checked_rem(sessions.len()).ok_or_else(unknown)?;
        let before = (0..record.turn)
            .map_while(|turn| self.answers.get(&(record.index, turn)).copied())
            .collect::<Vec<_>>();
        let asked = asked(&sessions[place], rules, &before);
        let sample = asked.into_iter().nth(record.turn as usize).ok_or_else(unknown)??;
        Ok(backend.encode(&sample)?.body.into())
    }
}
