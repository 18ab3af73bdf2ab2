//! Observers of requests.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use servemark_core::{Phase, RequestRecord};

use crate::Backlog;

/// Is notified of every request when it starts and when it ends.
///
/// The measuring threads make these calls, so an implementation passes the record on, to a channel,
/// a list or a counter, and returns.
pub trait Observer: Send + Sync + 'static {
    /// Reports that a request passed the gate.
    fn started(&self, phase: Phase) {
        let _ = phase;
    }

    /// Reports that a request is over, successful or not.
    fn finished(&self, record: RequestRecord);

    /// Returns the backlog of records that are not written yet, if it may delay requests.
    fn backlog(&self) -> Option<&Backlog> {
        None
    }
}

/// An observer with a `Debug` implementation.
#[derive(Clone)]
pub(crate) struct Observed(pub(crate) Arc<dyn Observer>);

impl fmt::Debug for Observed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Observer")
    }
}

/// Keeps all records in memory, in the order in which they finished.
#[derive(Debug, Default)]
pub struct Collector {
    records: Mutex<Vec<RequestRecord>>,
}

impl Collector {
    /// Removes and returns the records so far.
    pub fn take(&self) -> Vec<RequestRecord> {
        std::mem::take(&mut self.records.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Collector {
    fn finished(&self, record: RequestRecord) {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }
}
