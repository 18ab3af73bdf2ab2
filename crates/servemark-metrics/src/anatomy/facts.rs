//! Facts of a whole run that the times of its single requests are read by.

use servemark_core::{CountedWork, RunLog};

use super::ServerClock;
use crate::series::counter_increase;

/// Facts of a whole run that the division of a request's time needs.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AnatomyFacts {
    /// The server's clock on ours; absent if the server reports no instants.
    pub clock: Option<ServerClock>,
    /// Whether the server counted prompt tokens whose keys and values came from another server. The
    /// time from the queue to the first token, which vLLM reports, then contains the transfer.
    pub has_transfers: bool,
    /// Whether all requests were due at once and a concurrency limit decided when each was sent, so
    /// that a request counts as due when the limit lets it through.
    pub is_closed_loop: bool,
}

impl AnatomyFacts {
    /// Reads the facts of a run.
    pub fn of(log: &RunLog) -> Self {
        Self {
            clock: ServerClock::of(log),
            has_transfers: has_transfers(log),
            is_closed_loop: log.header().facts.is_closed_loop(),
        }
    }
}

fn has_transfers(log: &RunLog) -> bool {
    let counted = log.footer().and_then(|footer| footer.server_counters.as_ref());
    let by_counters = counted.is_some_and(|CountedWork { before, after, .. }| {
        let before = before.transferred_tokens.unwrap_or_default();
        after.transferred_tokens.is_some_and(|after| after > before)
    });
    by_counters || counter_increase(log, "transferred_tokens") > 0.0
}
