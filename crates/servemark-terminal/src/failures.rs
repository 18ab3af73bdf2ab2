//! The last line of a command: how many of its requests failed, and why.
//!
//! The counts are kept beside the commands, whose results differ too much to carry them: a program
//! does one command and ends.

use std::sync::{Mutex, PoisonError};

use servemark::core::RunLog;
use servemark::metrics::{FailureTally, Metrics};

use crate::screen;

/// Counts the failed requests of a run.
pub(crate) fn note(log: &RunLog) {
    with_tally(|tally| tally.add_run(log));
}

/// Counts the failed requests of a run of which only the metrics are left.
pub(crate) fn note_metrics(metrics: &Metrics) {
    with_tally(|tally| tally.add_metrics(metrics));
}

/// Says how many requests failed, if any did.
pub(crate) fn say() {
    with_tally(|tally| {
        if tally.failed() > 0 {
            screen::complain(&tally.to_string());
        }
    });
}

fn with_tally(work: impl FnOnce(&mut FailureTally)) {
    let mut tally = TALLY.lock().unwrap_or_else(PoisonError::into_inner);
    work(tally.get_or_insert_default());
}

static TALLY: Mutex<Option<FailureTally>> = Mutex::new(None);
