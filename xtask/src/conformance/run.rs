//! A client's run as it was observed.

use std::process::ExitStatus;

use serde_json::Value;

use super::tally::Tally;
use super::wire::Exchange;

/// Observed results of a client's run.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) status: ExitStatus,
    pub(super) exchanges: Vec<Exchange>,
    /// Increase of the server's counters during the run.
    pub(super) tally: Tally,
    /// Everything that the client printed.
    pub(super) output: String,
    pub(super) result: Value,
}
