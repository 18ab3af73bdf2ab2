//! The audit of a server's prefix cache: what the times to the first token of measured prompts show
//! beside those of prompts that no cache held, and of prompts that were just sent.
//!
//! Each audited prompt has three times: measured, cold and warm, with nearly the same number of
//! tokens. A measured prompt that was in the cache is as quick as a warm one, another one as slow as
//! a cold one, and one of which a part was in the cache lies between.

use std::collections::HashMap;

use serde::Serialize;
use servemark_core::{RequestRecord, RunLog};
use servemark_statistics::{PairedShift, portion, signed_rank};

use crate::statistics;

/// Result of the audit of a server's prefix cache.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CacheAudit {
    /// Number of prompts with all three times.
    pub prompts: usize,
    /// Median time to the first token of prompts that no cache held, in milliseconds.
    pub cold_ms: Option<f64>,
    /// Median time to the first token of the same prompts, sent again, in milliseconds.
    pub warm_ms: Option<f64>,
    /// Median time to the first token of the measured prompts, in milliseconds.
    pub measured_ms: Option<f64>,
    /// How much quicker a repeated prompt is, by the signed ranks of all pairs.
    pub saved_by_cache: Option<SavedTime>,
    /// How much quicker a measured prompt was than a cold one, by the signed ranks of all pairs.
    pub saved_in_run: Option<SavedTime>,
    /// What the times show.
    pub finding: CacheFinding,
    /// Share of the prompt tokens that came from a cache, from 0 to 1; absent unless the finding is
    /// [`Estimated`](CacheFinding::Estimated).
    pub share: Option<f64>,
    /// Confidence interval of `share` at 95 %.
    pub interval: Option<[f64; 2]>,
    /// Share of the prompt tokens that earlier prompts of the run begin with, too: what the plan
    /// intends to be found in a cache. Equal prompts count only where the data set shares prefixes
    /// by design.
    pub expected_share: f64,
    /// Number of prompts that were nearer to a warm than to a cold one, beyond what they share with
    /// earlier ones; zero unless the finding is [`Estimated`](CacheFinding::Estimated).
    pub requests: usize,
    /// Zero-based positions of the sessions of the first of these prompts.
    pub first: Vec<usize>,
}

/// A difference of times within pairs, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SavedTime {
    /// Hodges and Lehmann's estimate of the difference.
    pub ms: f64,
    /// Confidence interval of `ms` at 95 %.
    pub interval_ms: [f64; 2],
    /// Probability of such a difference by chance (Wilcoxon's signed-rank test, two-sided).
    pub chance: f64,
}

/// What the audit of a prefix cache shows.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CacheFinding {
    /// The share of cached tokens can be estimated.
    Estimated,
    /// A repeated prompt was not quicker than a new one by more than a tenth: no cache shows, and none
    /// made the run much quicker.
    NoCache,
    /// The measured prompts were slower than cold ones or quicker than warm ones, so the load of
    /// the audit was not that of the measurement, and the times cannot be compared.
    LoadDiffers,
    /// Too few prompts have all three times.
    TooFew,
}

/// The times of one audited prompt, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Triple {
    index: usize,
    measured: f64,
    cold: f64,
    warm: f64,
    tokens: f64,
    shared: f64,
}

impl Triple {
    /// Returns the share of the prompt that the measured time shows to be cached.
    fn share(&self) -> f64 {
        let saved = self.cold - self.warm;
        if saved > 0.0 { ((self.cold - self.measured) / saved).clamp(0.0, 1.0) } else { 0.0 }
    }
}

impl CacheAudit {
    /// Reads the audit of a run; `None` if there was none.
    pub fn of(log: &RunLog) -> Option<Self> {
        log.cache_cold().next()?;
        let triples = triples(log);
        let times = |time: fn(&Triple) -> f64| triples.iter().map(time).collect::<Vec<f64>>();
        let by_cache = times(|it| it.cold - it.warm);
        let in_run = times(|it| it.cold - it.measured);
        let over_warm = times(|it| it.measured - it.warm);
        let cold_ms = statistics::median_of(times(|it| it.cold));
        let shift = |differences: &[f64]| signed_rank(differences, CONFIDENCE);
        let finding = match (shift(&by_cache), shift(&in_run), shift(&over_warm)) {
            _ if triples.len() < FEWEST => CacheFinding::TooFew,
            (Some(saved), ..) if saved.low <= LEAST_SAVED * cold_ms.unwrap_or_default() => {
                CacheFinding::NoCache
            }
            (Some(saved), Some(cold), Some(warm)) => {
                let is_beyond = |it: PairedShift| it.high < 0.0 && -it.shift > BEYOND * saved.shift;
                let differs = is_beyond(cold) || is_beyond(warm);
                if differs { CacheFinding::LoadDiffers } else { CacheFinding::Estimated }
            }
            _ => CacheFinding::TooFew,
        };
        let share = (finding == CacheFinding::Estimated).then(|| share(&triples)).flatten();
        let tokens: f64 = triples.iter().map(|it| it.tokens).sum();
        let shared: f64 = triples.iter().map(|it| it.shared).sum();
        let found: Vec<usize> = triples
            .iter()
            .filter(|it| it.share() - it.shared / it.tokens.max(1.0) >= NEARER)
            .map(|it| it.index)
            .collect();
        let found = if finding == CacheFinding::Estimated { found } else { Vec::new() };
        Some(Self {
            prompts: triples.len(),
            cold_ms,
            warm_ms: statistics::median_of(times(|it| it.warm)),
            measured_ms: statistics::median_of(times(|it| it.measured)),
            saved_by_cache: shift(&by_cache).map(SavedTime::of),
            saved_in_run: shift(&in_run).map(SavedTime::of),
            finding,
            share: share.map(|(share, _)| share),
            interval: share.map(|(_, interval)| interval),
            expected_share: if tokens > 0.0 { shared / tokens } else { 0.0 },
            requests: found.len(),
            first: found.into_iter().take(MOST_NAMED).collect(),
        })
    }
}

impl SavedTime {
    fn of(shift: PairedShift) -> Self {
        Self { ms: shift.shift, interval_ms: [shift.low, shift.high], chance: shift.chance }
    }
}

/// Returns the share of the time that a cache saves which was saved in the run, and its confidence
/// interval. As that time grows with the tokens, it is the share of the tokens.
///
/// What a cache saves for a token is Hodges and Lehmann's estimate, which single delays do not move.
/// What was saved in the run is a sum, because a part of the prompts may be cached and the rest not.
/// The interval combines the far ends of both intervals. The audited prompts are drawn evenly from a
/// run that is over, so a share that changed during the run is no obstacle, and the prompts count as
/// independent.
fn share(triples: &[Triple]) -> Option<(f64, [f64; 2])> {
    let tokens = |it: &Triple| it.tokens.max(1.0);
    let by_cache: Vec<f64> = triples.iter().map(|it| (it.cold - it.warm) / tokens(it)).collect();
    let by_cache = signed_rank(&by_cache, CONFIDENCE).filter(|saved| saved.low > 0.0)?;
    let saved: Vec<f64> = triples.iter().map(|it| it.cold - it.measured).collect();
    let could_save: Vec<f64> = triples.iter().map(|it| by_cache.shift * tokens(it)).collect();
    let share = portion(&saved, &could_save, CONFIDENCE)?;
    let within = |share: f64| share.clamp(0.0, 1.0);
    let low = within(share.low * by_cache.shift / by_cache.high);
    let high = within(share.high * by_cache.shift / by_cache.low);
    Some((within(share.value), [low, high]))
}

fn triples(log: &RunLog) -> Vec<Triple> {
    let measured: HashMap<usize, &RequestRecord> = log
        .measured()
        .filter(|record| record.turn == 0)
        .map(|record| (record.index, record))
        .collect();
    let warm: HashMap<usize, &RequestRecord> =
        log.cache_warm().map(|record| (record.index, record)).collect();
    let shared: HashMap<usize, u32> = log.footer().map_or_else(HashMap::new, |footer| {
        footer.shared_prefixes.iter().map(|prefix| (prefix.index, prefix.tokens)).collect()
    });
    let triple = |cold: &RequestRecord| {
        let (measured, index) = (measured.get(&cold.index)?, cold.index);
        Some(Triple {
            index,
            measured: ttft_ms(measured)?,
            cold: ttft_ms(cold)?,
            warm: ttft_ms(warm.get(&index)?)?,
            tokens: prompt_tokens(measured).into(),
            shared: shared.get(&index).copied().unwrap_or_default().into(),
        })
    };
    log.cache_cold().filter_map(triple).collect()
}

/// Returns the number of prompt tokens that the server reports, or the planned number if it reports
/// none.
pub(crate) fn prompt_tokens(record: &RequestRecord) -> u32 {
    let reported = record.usage.and_then(|usage| usage.prompt_tokens).filter(|tokens| *tokens > 0);
    reported.unwrap_or(record.planned.prompt_tokens)
}

/// Returns the time from sending to the first output, without waits of the client.
fn ttft_ms(record: &RequestRecord) -> Option<f64> {
    let first = record.deltas.first_at().filter(|_| record.is_success())?;
    Some(first.since(record.started()).as_secs_f64() * 1e3)
}

const CONFIDENCE: f64 = 0.95;

/// Number of requests that a verdict names.
pub(crate) const MOST_NAMED: usize = 5;

/// Least number of prompts with all three times.
const FEWEST: usize = 8;

/// Least share of a cold time that a cache saves. The first request after a pause, or on a new
/// connection, may be slower by less than this without any cache.
const LEAST_SAVED: f64 = 0.1;

/// Share of the time that a cache saves from which a measured time is beyond those of the audit.
const BEYOND: f64 = 0.1;

/// Share of a prompt from which it counts as cached.
const NEARER: f64 = 0.5;
