//! Conversations as wholes: one value of each, and what is said of all of them.

use serde::Serialize;
use servemark_core::{RequestRecord, RunLog};

use crate::metrics::begun;
use crate::reuse::{Reuse, cached_percent, reuses};
use crate::{Distribution, MetricPolicy, PercentileRule, RequestScore, statistics};

/// Conversations as wholes: one value of each. Turns that failed are no part of one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TraceFigures {
    /// How many there are.
    pub traces: usize,
    /// From the first turn's start to the last one's end, in seconds.
    pub latency_s: Distribution,
    /// To the first token of the first turn.
    pub first_turn_ttft_s: Distribution,
    /// From the first turn's start to the first token of the last answer.
    pub last_answer_s: Distribution,
    /// Output tokens per second after the first, on average over the turns.
    pub decode_per_s: Distribution,
    /// The share of the prompts that was in a prefix cache, in percent.
    pub cache_hit_percent: Distribution,
    /// The same of what could have been in it.
    pub eligible_hit_percent: Distribution,
}

/// One turn of a conversation and what it found in the cache.
type Turn<'a> = (&'a RequestScore<'a>, Reuse);

impl TraceFigures {
    /// The conversations of a run; nothing of a run without any.
    pub fn of(log: &RunLog, scores: &[RequestScore<'_>]) -> Option<Self> {
        log.measured().find(|record| record.is_of_conversation())?;
        let turns: Vec<Turn<'_>> = scores.iter().zip(reuses(log, scores)).collect();
        let good: Vec<Turn<'_>> = turns.into_iter().filter(|(score, _)| score.success).collect();
        let traces: Vec<&[Turn<'_>]> =
            good.chunk_by(|(one, _), (next, _)| one.index == next.index).collect();
        let of = |value: fn(&[Turn<'_>]) -> f64| {
            let values = traces.iter().map(|turns| value(turns));
            Distribution::by_rule(values, PercentileRule::Linear, &PERCENTILES)
        };
        Some(Self {
            traces: traces.len(),
            latency_s: of(|turns| between(turns, |last| last.latency_s)),
            first_turn_ttft_s: of(|turns| turns[0].0.ttft_s.unwrap_or_default()),
            last_answer_s: of(|turns| between(turns, |last| last.ttft_s.unwrap_or_default())),
            decode_per_s: of(decode_per_s),
            cache_hit_percent: of(cache_hit_percent),
            eligible_hit_percent: of(eligible_hit_percent),
        })
    }
}

const PERCENTILES: [f64; 4] = [50.0, 90.0, 95.0, 99.0];

/// From the first turn's start to an instant of the last one.
fn between(turns: &[Turn<'_>], until: fn(&RequestScore<'_>) -> f64) -> f64 {
    let ((first, _), (last, _)) = (turns[0], turns[turns.len() - 1]);
    (last.start_s + until(last) - first.start_s).max(0.0)
}

fn decode_per_s(turns: &[Turn<'_>]) -> f64 {
    let speed = |(score, _): &Turn<'_>| {
        let tokens = score.output_token_count().checked_sub(1).filter(|tokens| *tokens > 0)?;
        let seconds = score.latency_s - score.ttft_s.unwrap_or_default();
        (seconds > 0.0).then(|| tokens as f64 / seconds)
    };
    let speeds: Vec<f64> = turns.iter().filter_map(speed).collect();
    statistics::mean(&speeds).unwrap_or_default()
}

fn cache_hit_percent(turns: &[Turn<'_>]) -> f64 {
    percent(turns, |score, _| score.prompt_tokens.into())
}

fn eligible_hit_percent(turns: &[Turn<'_>]) -> f64 {
    let later: Vec<Turn<'_>> =
        turns.iter().copied().filter(|(_, reuse)| reuse.eligible > 0).collect();
    percent(&later, |_, reuse| reuse.eligible)
}

fn percent(turns: &[Turn<'_>], of: fn(&RequestScore<'_>, Reuse) -> u64) -> f64 {
    let whole: u64 = turns.iter().map(|&(score, reuse)| of(score, reuse)).sum();
    let cached: u64 = turns.iter().filter_map(|(_, reuse)| reuse.cached).sum();
    if whole > 0 { cached as f64 / whole as f64 * 100.0 } else { 0.0 }
}

/// First turns and later ones, which find in a prefix cache what the turns before have left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TurnPlaces {
    /// Which turn a request is on average, from one; absent in a run without conversations.
    pub mean_turn: Option<f64>,
    /// The mean time to the first token of first turns, in milliseconds.
    pub first_ttft_ms: Option<f64>,
    /// That of later turns.
    pub later_ttft_ms: Option<f64>,
    /// The share of all prompts that was in a prefix cache, in percent, where anybody says.
    pub cached_percent: Option<f64>,
}

impl TurnPlaces {
    /// Those of a run.
    pub fn of(log: &RunLog, scores: &[RequestScore<'_>], policy: &MetricPolicy) -> Self {
        let cached_percent = cached_percent(scores, &reuses(log, scores));
        if !log.measured().any(RequestRecord::is_of_conversation) {
            return Self { cached_percent, ..Self::default() };
        }
        let good = || scores.iter().filter(|score| score.success);
        let turns: Vec<f64> = good().map(|score| f64::from(score.turn) + 1.0).collect();
        let ttft_ms = |is_first: bool| {
            let those = begun(policy, scores).filter(|score| (score.turn == 0) == is_first);
            let times: Vec<f64> = those.filter_map(|score| score.ttft_s).collect();
            statistics::mean(&times).map(|seconds| seconds * 1000.0)
        };
        Self {
            mean_turn: statistics::mean(&turns),
            first_ttft_ms: ttft_ms(true),
            later_ttft_ms: ttft_ms(false),
            cached_percent,
        }
    }
}
