//! How long an engine was at work.

use servemark_core::{RequestRecord, RunLog, Stamp};

/// From the first request that was given to the engine to the last that it answered.
pub(crate) fn seconds(log: &RunLog) -> f64 {
    let answered = || log.measured().filter(|record| record.is_success());
    let first = answered().map(RequestRecord::started).min().unwrap_or_default();
    let last = answered().map(|record| record.ended).max().unwrap_or(Stamp::ZERO);
    last.since(first).as_secs_f64()
}
