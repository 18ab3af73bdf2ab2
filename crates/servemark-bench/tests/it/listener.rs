//! Observers that record a run's events for a test.

use std::sync::{Mutex, PoisonError};

use servemark::core::Progress;
use servemark::{RunEvent, RunObserver};

/// Records the text of all events.
#[derive(Debug, Default)]
pub(crate) struct Listener(Mutex<Vec<String>>);

impl Progress for Listener {
    fn begin(&self, _work: &str, _total: u64) {}
    fn advance(&self, _steps: u64) {}
    fn end(&self) {}
}

impl RunObserver for Listener {
    fn on_event(&self, event: &RunEvent<'_>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event.to_string());
    }
}

impl Listener {
    /// Number of events whose text contains `words`.
    pub(crate) fn count_events(&self, words: &str) -> usize {
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        events.iter().filter(|event| event.contains(words)).count()
    }
}

/// Keeps the warnings of a run.
#[derive(Default)]
pub(crate) struct Warnings(pub(crate) Mutex<Vec<String>>);

impl Progress for Warnings {
    fn begin(&self, _work: &str, _total: u64) {}
    fn advance(&self, _steps: u64) {}
    fn end(&self) {}
}

impl RunObserver for Warnings {
    fn on_event(&self, event: &RunEvent<'_>) {
        if matches!(event, RunEvent::Missed { .. }) {
            self.0.lock().unwrap().push(event.to_string());
        }
    }
}
