//! Counters that a server keeps of its own work.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::is_default;

/// A server's counters of its own work since its start, for all clients together. Counters that the
/// server does not keep are absent.
///
/// ```
/// use servemark_core::{PrefixCacheCounters, ServerCounters};
///
/// let mut counters = ServerCounters::default();
/// assert!(counters.is_empty());
/// counters.prefix_cache = Some(PrefixCacheCounters::default());
/// assert!(!counters.is_empty());
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerCounters {
    /// Counters of speculative decoding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speculation: Option<SpeculationCounters>,
    /// Counters of a diffusion model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diffusion: Option<DiffusionCounters>,
    /// Counters of the prefix cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix_cache: Option<PrefixCacheCounters>,
    /// Number of prompt tokens whose keys and values came from another server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transferred_tokens: Option<i64>,
}

impl ServerCounters {
    /// Returns whether the server reports none of these counters.
    pub fn is_empty(&self) -> bool {
        is_default(self)
    }
}

/// Counters of speculative decoding: drafted and accepted tokens.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SpeculationCounters {
    /// Number of drafts.
    pub drafts: i64,
    /// Number of drafted tokens.
    pub draft_tokens: i64,
    /// Number of drafted tokens that were accepted.
    pub accepted_tokens: i64,
    /// Number of accepted tokens by their zero-based position in the draft.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub accepted_by_position: BTreeMap<i64, i64>,
}

/// Counters of a diffusion model.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct DiffusionCounters {
    /// Number of denoising steps, including those that committed a canvas.
    pub denoising_steps: i64,
    /// Number of canvas positions that the steps evaluated.
    pub canvas_positions: i64,
    /// Number of committed tokens.
    pub committed_tokens: i64,
}

/// Counters of the prefix cache, in prompt tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct PrefixCacheCounters {
    /// Number of tokens that were looked up.
    pub queries: i64,
    /// Number of tokens that were found.
    pub hits: i64,
}

/// A server's counters before and after a measurement.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CountedWork {
    /// Counters right before the first request of the measurement.
    pub before: ServerCounters,
    /// Counters right after the last answer of the measurement.
    pub after: ServerCounters,
}

impl CountedWork {
    /// Creates the pair from the counters `before` and `after` a measurement.
    pub fn new(before: ServerCounters, after: ServerCounters) -> Self {
        Self { before, after }
    }
}
