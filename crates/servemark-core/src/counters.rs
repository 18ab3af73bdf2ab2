//! What a server has counted of its own work since it was started.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::is_default;

/// What a server has counted of its own work since it was started, whoever asked it. What it does
/// not count is absent.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerCounters {
    /// Guesses of speculative decoding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speculation: Option<SpeculationCounters>,
    /// Steps of a diffusion model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diffusion: Option<DiffusionCounters>,
    /// Questions to the prefix cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix_cache: Option<PrefixCacheCounters>,
}

impl ServerCounters {
    /// Whether the server counts none of it.
    pub fn is_empty(&self) -> bool {
        is_default(self)
    }
}

/// What was guessed and what of it was right.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SpeculationCounters {
    /// How often tokens were guessed.
    pub drafts: i64,
    /// Tokens that were guessed.
    pub draft_tokens: i64,
    /// Those of them that were accepted.
    pub accepted_tokens: i64,
    /// The same by their place in the guess, from zero.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub accepted_by_position: BTreeMap<i64, i64>,
}

/// How a diffusion model worked.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct DiffusionCounters {
    /// Steps, with those that committed a canvas.
    pub denoising_steps: i64,
    /// Positions of canvases that steps evaluated.
    pub canvas_positions: i64,
    /// Tokens that were committed.
    pub committed_tokens: i64,
}

/// How much of its prompts a server had in its prefix cache.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct PrefixCacheCounters {
    /// Tokens that were looked for.
    pub queries: i64,
    /// Those of them that were there.
    pub hits: i64,
}

/// A server's counters on both sides of a measurement.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CountedWork {
    /// Right before its first request.
    pub before: ServerCounters,
    /// Right after its last answer.
    pub after: ServerCounters,
}

impl CountedWork {
    /// Counters of a measurement.
    pub fn new(before: ServerCounters, after: ServerCounters) -> Self {
        Self { before, after }
    }
}
