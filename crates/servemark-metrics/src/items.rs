//! Totals of requests that ask for several answers at once: texts to embed, documents to rank.

use serde::Serialize;
use servemark_core::{RequestRecord, RunLog};

/// Totals of the requests that succeeded. A request that asks for one answer counts as one item.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ItemTotals {
    /// Number of texts embedded or documents ranked.
    pub items: u64,
    /// Items per second.
    pub items_per_s: Option<f64>,
    /// Prompt tokens by the server's own count; absent unless the server counted every request.
    pub server_tokens: Option<u64>,
    /// Prompt tokens per second by the server's own count.
    pub server_tokens_per_s: Option<f64>,
    /// Bytes of the answers, without HTTP's framing.
    pub received_bytes: u64,
    /// Mean number of received bytes per item.
    pub bytes_per_item: Option<f64>,
}

impl ItemTotals {
    pub(crate) fn of(log: &RunLog, duration_s: f64) -> Self {
        let successes = || log.measured().filter(|record| record.is_success());
        let items = successes().map(|record| u64::from(record.planned.items)).sum();
        // The sum saturates because a log from elsewhere may hold any numbers.
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
