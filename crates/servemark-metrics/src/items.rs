//! What requests brought that ask for several answers at once: texts to embed, documents to rank.

use serde::Serialize;
use servemark_core::{RequestRecord, RunLog};

/// What the requests that ended well brought. Where a request asks for one answer, an item is a
/// request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ItemTotals {
    /// Texts embedded, or documents ranked.
    pub items: u64,
    /// The same per second.
    pub items_per_s: Option<f64>,
    /// Prompt tokens by the server's own count; absent unless it counted every request.
    pub server_tokens: Option<u64>,
    /// The same per second.
    pub server_tokens_per_s: Option<f64>,
    /// Bytes of the answers, without HTTP's framing.
    pub received_bytes: u64,
    /// The same for each item.
    pub bytes_per_item: Option<f64>,
}

impl ItemTotals {
    pub(crate) fn of(log: &RunLog, duration_s: f64) -> Self {
        let successes = || log.measured().filter(|record| record.is_success());
        let items = successes().map(|record| u64::from(record.planned.items)).sum();
        // A foreign log may hold any numbers.
        let received = successes().map(|record| record.received_bytes);
        let received_bytes = received.fold(0, u64::saturating_add);
        let counts: Option<Vec<u64>> = successes().map(server_tokens).collect();
        let server_tokens = counts.filter(|counts| !counts.is_empty()).map(|c| c.iter().sum());
        let per_second = |count: u64| (duration_s > 0.0).then(|| count as f64 / duration_s);
        Self {
            items,
            items_per_s: per_second(items),
            server_tokens,
            server_tokens_per_s: server_tokens.and_then(per_second),
            received_bytes,
            bytes_per_item: (items > 0).then(|| received_bytes as f64 / items as f64),
        }
    }
}

fn server_tokens(record: &RequestRecord) -> Option<u64> {
    record.usage?.prompt_tokens.map(u64::from)
}
