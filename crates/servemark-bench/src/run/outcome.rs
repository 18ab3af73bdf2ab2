//! The result of a run.

use std::path::PathBuf;

use servemark_core::{RunLog, RunLogError};
use servemark_metrics::Audit;

use super::sent_requests::SentRequests;

/// A run that is complete or was stopped.
#[derive(Debug)]
pub struct Run {
    /// Everything that was observed. If answers have more than 64 MiB of text, the rest of the
    /// text is only in the run log's file, unless the plan prints or keeps texts.
    pub log: RunLog,
    /// Audit of the client's effect on the measurement; the log's footer contains it, too.
    pub audit: Audit,
    /// Path of the run log, if it was written.
    pub run_log: Option<PathBuf>,
    /// Error that left the run log file incomplete. The log in memory is complete.
    pub run_log_error: Option<RunLogError>,
    /// Number of client threads that died. The log lacks their requests and is marked as
    /// interrupted.
    pub lost_shards: usize,
    /// Requests that were sent; `None` for a run that is known only by its log, and for an
    /// offline engine.
    pub sent: Option<SentRequests>,
}

impl Run {
    /// Creates a run from its log alone.
    pub fn of_log(log: RunLog) -> Self {
        let audit = Audit::of(&log);
        Self { log, audit, run_log: None, run_log_error: None, lost_shards: 0, sent: None }
    }

    /// Creates a completed run from the log file that it left.
    pub(crate) fn of_file(log: RunLog, path: PathBuf) -> Self {
        Self { run_log: Some(path), ..Self::of_log(log) }
    }
}
