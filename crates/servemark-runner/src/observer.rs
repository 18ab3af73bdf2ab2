//! Who is told of the requests.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use servemark_core::{Phase, RequestRecord};

use crate::Backlog;

/// Told of every request as it starts and as it ends.
///
/// The calls come from the threads that measure, so an implementation hands the record on and
/// returns: to a channel, a list, a counter.
pub trait Observer: Send + Sync + 'static {
    /// A request passed the gate.
    fn started(&self, phase: Phase) {
        let _ = phase;
    }

    /// A request is over, well or not.
    fn finished(&self, record: RequestRecord);

    /// How far the keeping of records is behind, if that may hold up what is to be sent.
    fn backlog(&self) -> Option<&Backlog> {
        None
    }
}

/// An observer that debugs as its trait.
#[derive(Clone)]
pub(crate) struct Observed(pub(crate) Arc<dyn Observer>);

impl fmt::Debug for Observed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Observer")
    }
}

/// Keeps every record in memory, in the order in which they finished.
#[derive(Debug, Default)]
pub struct Collector {
    records: Mutex<Vec<RequestRecord>>,
}

impl Collector {
    /// The records so far, which are then no longer here.
    pub fn take(&self) -> Vec<RequestRecord> {
        std::mem::take(&mut self.records.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Collector {
    fn finished(&self, record: RequestRecord) {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }
}
