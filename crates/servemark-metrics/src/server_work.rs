//! The server's counters of its own work during the measurement.

use std::collections::BTreeSet;

use serde::Serialize;
use servemark_core::{
    CountedWork, DiffusionCounters, PrefixCacheCounters, RunLog, SpeculationCounters,
};

/// The server's counters of its own work during the measurement, for this run and for any other
/// client that used the server meanwhile. The definitions are vLLM's.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ServerWork {
    /// Results of speculative decoding; absent if no tokens were drafted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speculation: Option<Speculation>,
    /// Work of a diffusion model; absent if it committed no tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diffusion: Option<Diffusion>,
    /// Use of the prefix cache; absent if nothing was looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix_cache: Option<PrefixCache>,
}

/// Results of speculative decoding.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Speculation {
    /// Number of drafts.
    pub drafts: i64,
    /// Number of drafted tokens.
    pub draft_tokens: i64,
    /// Number of drafted tokens that were accepted.
    pub accepted_tokens: i64,
    /// Share of the drafted tokens that was accepted, in percent.
    pub acceptance_rate_percent: f64,
    /// Mean number of tokens of a step: one of its own, and the accepted ones.
    pub acceptance_length: f64,
    /// Share of all drafts in which the token at each position was accepted, from 0 to 1.
    pub acceptance_by_position: Vec<f64>,
}

/// Work of a diffusion model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Diffusion {
    /// Number of steps without those that committed a canvas. It is no whole number if a canvas is
    /// incomplete.
    pub denoising_steps: f64,
    /// Number of canvas positions that all steps evaluated.
    pub canvas_positions: i64,
    /// Number of tokens that were committed.
    pub committed_tokens: i64,
    /// Committed tokens per second.
    pub committed_tokens_per_s: f64,
    /// Mean number of denoising steps for each canvas.
    pub steps_per_canvas: f64,
    /// Mean number of tokens committed for each denoising step.
    pub committed_per_step: f64,
}

/// Use of the prefix cache.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PrefixCache {
    /// Number of tokens that were looked up.
    pub queries: i64,
    /// Number of tokens that were found.
    pub hits: i64,
}

impl PrefixCache {
    /// Returns the share of looked-up tokens that was found, from 0 to 1.
    pub fn hit_rate(&self) -> f64 {
        self.hits as f64 / self.queries as f64
    }

    fn between(before: PrefixCacheCounters, after: PrefixCacheCounters) -> Option<Self> {
        let cache = Self {
            queries: after.queries.saturating_sub(before.queries),
            hits: after.hits.saturating_sub(before.hits),
        };
        (cache.queries > 0).then_some(cache)
    }
}

impl ServerWork {
    pub(crate) fn of(log: &RunLog, duration_s: f64) -> Self {
        let counted = log.footer().and_then(|footer| footer.server_counters.as_ref());
        let Some(CountedWork { before, after, .. }) = counted else { return Self::default() };
        let guesses = before.speculation.as_ref().zip(after.speculation.as_ref());
        let steps = before.diffusion.zip(after.diffusion);
        let lookups = before.prefix_cache.zip(after.prefix_cache);
        Self {
            speculation: guesses.and_then(|(before, after)| Speculation::between(before, after)),
            diffusion: steps
                .and_then(|(before, after)| Diffusion::between(before, after, duration_s)),
            prefix_cache: lookups.and_then(|(before, after)| PrefixCache::between(before, after)),
        }
    }
}

impl Speculation {
    fn between(before: &SpeculationCounters, after: &SpeculationCounters) -> Option<Self> {
        let drafts = after.drafts.saturating_sub(before.drafts);
        let draft_tokens = after.draft_tokens.saturating_sub(before.draft_tokens);
        let accepted_tokens = after.accepted_tokens.saturating_sub(before.accepted_tokens);
        let guessed = drafts > 0;
        (draft_tokens > 0).then(|| Self {
            drafts,
            draft_tokens,
            accepted_tokens,
            acceptance_rate_percent: accepted_tokens as f64 / draft_tokens as f64 * 100.0,
            acceptance_length: if guessed {
                1.0 + accepted_tokens as f64 / drafts as f64
            } else {
                0.0
            },
            acceptance_by_position: if guessed {
                by_position(before, after, drafts)
            } else {
                Vec::new()
            },
        })
    }
}

/// Returns the acceptance rate at each position. A position that the server counted only before the
/// run counts as not accepted.
fn by_position(before: &SpeculationCounters, after: &SpeculationCounters, drafts: i64) -> Vec<f64> {
    let (before, after) = (&before.accepted_by_position, &after.accepted_by_position);
    let positions: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let accepted = |position: &i64| {
        let earlier = before.get(position).copied().unwrap_or_default();
        after.get(position).map_or(0, |later: &i64| later.saturating_sub(earlier))
    };
    positions.into_iter().map(|position| accepted(position) as f64 / drafts as f64).collect()
}

impl Diffusion {
    /// Computes the work between two readings. A step evaluates a whole canvas, and one step of
    /// each canvas commits it.
    fn between(
        before: DiffusionCounters,
        after: DiffusionCounters,
        duration_s: f64,
    ) -> Option<Self> {
        let steps = after.denoising_steps.saturating_sub(before.denoising_steps);
        let canvas_positions = after.canvas_positions.saturating_sub(before.canvas_positions);
        let committed_tokens = after.committed_tokens.saturating_sub(before.committed_tokens);
        if steps <= 0 || canvas_positions <= 0 || committed_tokens <= 0 {
            return None;
        }
        let canvases = committed_tokens as f64 / (canvas_positions as f64 / steps as f64);
        let denoising_steps = steps as f64 - canvases;
        Some(Self {
            denoising_steps,
            canvas_positions,
            committed_tokens,
            committed_tokens_per_s: committed_tokens as f64 / duration_s,
            steps_per_canvas: denoising_steps / canvases,
            committed_per_step: committed_tokens as f64 / denoising_steps,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guesses(drafts: i64, accepted: &[(i64, i64)]) -> SpeculationCounters {
        let mut counters = SpeculationCounters::default();
        counters.drafts = drafts;
        counters.draft_tokens = drafts * 4;
        counters.accepted_by_position = accepted.iter().copied().collect();
        counters.accepted_tokens = counters.accepted_by_position.values().sum();
        counters
    }

    #[test]
    fn a_position_that_is_gone_was_not_accepted() {
        let (before, after) = (guesses(10, &[(0, 9), (2, 3)]), guesses(20, &[(0, 14), (10, 5)]));
        let work = Speculation::between(&before, &after).unwrap();
        assert_eq!(work.acceptance_by_position, [0.5, 0.0, 0.5]);
        assert_eq!((work.drafts, work.draft_tokens, work.accepted_tokens), (10, 40, 7));
        assert_eq!((work.acceptance_rate_percent, work.acceptance_length), (17.5, 1.7));
    }

    #[test]
    fn a_server_that_did_nothing_or_started_again_tells_nothing() {
        let (some, more) = (guesses(10, &[(0, 9)]), guesses(20, &[(0, 14)]));
        assert_eq!(Speculation::between(&some, &some), None);
        assert_eq!(Speculation::between(&more, &some), None);
        assert_eq!(
            PrefixCache::between(PrefixCacheCounters::default(), PrefixCacheCounters::default()),
            None
        );
    }

    #[test]
    fn counters_of_any_size_are_subtracted() {
        let (before, after) = (guesses(1, &[(0, i64::MIN)]), guesses(2, &[(0, i64::MAX)]));
        assert!(Speculation::between(&before, &after).is_some());
        let cache = |queries| {
            let mut counters = PrefixCacheCounters::default();
            counters.queries = queries;
            counters
        };
        let cache = PrefixCache::between(cache(i64::MIN), cache(i64::MAX)).unwrap();
        assert_eq!(cache.queries, i64::MAX);
    }
}
