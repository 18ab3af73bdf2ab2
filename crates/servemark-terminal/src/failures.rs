//! The last line of a command: how many of its requests failed and why.
//!
//! The counts are kept in a static, because the results of the commands differ too much to carry
//! them. A process runs one command and exits.

use std::sync::Mutex;

use servemark::core::RunLog;
use servemark::metrics::{FailureTally, Metrics};

use crate::screen::{self, lock};

/// Counts the failed requests of a run.
pub(crate) fn note(log: &RunLog) {
    with_tally(|tally| tally.add_run(log));
}

/// Counts the failed requests of a run from its metrics.
pub(crate) fn note_metrics(metrics: &Metrics) {
    with_tally(|tally| tally.add_metrics(metrics));
}

/// Prints the number of failed requests, if any failed.
pub(crate) fn print_count() {
    with_tally(|tally| {
        if tally.failed() > 0 {
            screen::eprint_line(&tally.to_string());
        }
    });
}

fn with_tally(work: impl FnOnce(&mut FailureTally)) {
    let mut tally = lock(&TALLY);
    work(tally.get_or_insert_default());
}

static TALLY: Mutex<Option<FailureTally>> = Mutex::new(None);
