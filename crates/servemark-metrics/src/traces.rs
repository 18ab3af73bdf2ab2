//! Figures of whole conversations, one value for each.

use serde::Serialize;
use servemark_core::RunLog;

use crate::reuse::{Reuse, cached_percent, reuses};
use crate::sampled::ttft_requests;
use crate::{Distribution, MetricPolicy, PercentileRule, RequestScore, statistics};

/// Figures of whole conversations, one value for each. Failed turns are left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TraceFigures {
    /// Number of conversations.
    pub traces: usize,
    /// Time from the first turn's start to the last turn's end, in seconds.
    pub latency_s: Distribution,
    /// Time to the first token of the first turn, in seconds.
    pub first_turn_ttft_s: Distribution,
    /// Time from the first turn's start to the first token of the last answer, in seconds.
    pub last_answer_s: Distribution,
    /// Output tokens per second after the first token, averaged over the turns.
    pub decode_per_s: Distribution,
    /// Share of the prompt tokens that was in a prefix cache, in percent.
    pub cache_hit_percent: Distribution,
    /// Tokens that were in a prefix cache, in percent of those that could have been in it.
    pub eligible_hit_percent: Distribution,
}

/// One turn of a conversation and its reuse of the prefix cache.
type ScoredTurn<'a> = (&'a RequestScore<'a>, Reuse);

impl TraceFigures {
    /// Computes the figures of a run's conversations; absent for a run without conversations.
    pub fn of(log: &RunLog, scores: &[RequestScore<'_>]) -> Option<Self> {
        log.converses().then_some(())?;
        let turns: Vec<ScoredTurn<'_>> = scores.iter().zip(reuses(log, scores)).collect();
        let good: Vec<ScoredTurn<'_>> =
            turns.into_iter().filter(|(score, _)| score.success).collect();
        let traces: Vec<&[ScoredTurn<'_>]> =
            good.chunk_by(|(one, _), (next, _)| one.index == next.index).collect();
        (!traces.is_empty()).then_some(())?;
        let of = |value: fn(&[ScoredTurn<'_>]) -> f64| {
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

/// Returns the time in seconds from the first turn's start to an instant of the last turn.
fn between(turns: &[ScoredTurn<'_>], until: fn(&RequestScore<'_>) -> f64) -> f64 {
    let ((first, _), (last, _)) = (turns[0], turns[turns.len() - 1]);
    (last.start_s + until(last) - first.start_s).max(0.0)
}

fn decode_per_s(turns: &[ScoredTurn<'_>]) -> f64 {
    let speed = |(score, _): &ScoredTurn<'_>| {
        let tokens = score.output_token_count().checked_sub(1).filter(|tokens| *tokens > 0)?;
        let seconds = score.latency_s - score.ttft_s.unwrap_or_default();
        (seconds > 0.0).then(|| tokens as f64 / seconds)
    };
    let speeds: Vec<f64> = turns.iter().filter_map(speed).collect();
    statistics::mean(&speeds).unwrap_or_default()
}

fn cache_hit_percent(turns: &[ScoredTurn<'_>]) -> f64 {
    percent(turns, |score, _| score.prompt_tokens.into())
}

fn eligible_hit_percent(turns: &[ScoredTurn<'_>]) -> f64 {
    let later: Vec<ScoredTurn<'_>> =
        turns.iter().copied().filter(|(_, reuse)| reuse.eligible > 0).collect();
    percent(&later, |_, reuse| reuse.eligible)
}

fn percent(turns: &[ScoredTurn<'_>], of: fn(&RequestScore<'_>, Reuse) -> u64) -> f64 {
    let whole: u64 = turns.iter().map(|&(score, reuse)| of(score, reuse)).sum();
    let cached: u64 = turns.iter().filter_map(|(_, reuse)| reuse.cached).sum();
    if whole > 0 { cached as f64 / whole as f64 * 100.0 } else { 0.0 }
}

/// Latencies of first and of later turns. Later turns find in a prefix cache what earlier turns
/// have left there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TurnPlaces {
    /// Mean one-based turn of the successful requests; absent in a run without conversations.
    pub mean_turn: Option<f64>,
    /// Mean time to first token of first turns, in milliseconds.
    pub first_ttft_ms: Option<f64>,
    /// Mean time to first token of later turns, in milliseconds.
    pub later_ttft_ms: Option<f64>,
    /// Share of all prompt tokens that was in a prefix cache, in percent; absent if it is not
    /// known.
    pub cached_percent: Option<f64>,
}

impl TurnPlaces {
    /// Computes the figures of a run.
    pub fn of(log: &RunLog, scores: &[RequestScore<'_>], policy: &MetricPolicy) -> Self {
        let cached_percent = cached_percent(scores, &reuses(log, scores));
        if !log.converses() {
            return Self { cached_percent, ..Self::default() };
        }
        let good = || scores.iter().filter(|score| score.success);
        let turns: Vec<f64> = good().map(|score| f64::from(score.turn) + 1.0).collect();
        let ttft_ms = |is_first: bool| {
            let those = ttft_requests(policy, scores).filter(|score| (score.turn == 0) == is_first);
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
