//! The time during which an engine was at work.

use servemark_core::{RequestRecord, RunLog, Stamp};

/// Returns the time, in seconds, from the start of the first to the end of the last successful
/// request.
pub(crate) fn seconds(log: &RunLog) -> f64 {
    let answered = || log.measured().filter(|record| record.is_success());
    let first = answered().map(RequestRecord::started).min().unwrap_or_default();
    let last = answered().map(|record| record.ended).max().unwrap_or(Stamp::ZERO);
    last.since(first).as_secs_f64()
}
