//! Conversations turn by turn: each turn has the figures of a run.

use serde::Serialize;
use servemark_core::{RequestRecord, RunLog};
use servemark_statistics::UnmetWaits;

use crate::{Latencies, Metrics, RequestScore};

/// Figures of the conversations of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ConversationFigures {
    /// Number of conversations whose turns all succeeded.
    pub completed: usize,
    /// Number of conversations that ended with a failed turn.
    pub failed: usize,
    /// Mean number of turns that succeeded.
    pub mean_turns: f64,
    /// Mean time from the first turn's start to the last turn's end, in milliseconds.
    pub mean_duration_ms: f64,
    /// Figures of all turns together.
    pub overall: TurnFigures,
    /// Figures of each turn, the first one first.
    pub turns: Vec<TurnFigures>,
}

/// Figures of the requests of one turn or of all turns. Rates are over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TurnFigures {
    /// Number of requests that succeeded.
    pub completed: usize,
    /// Number of requests that failed.
    pub failed: usize,
    /// Prompt tokens of the successful requests, history included.
    pub input_tokens: u64,
    /// Output tokens of the successful requests.
    pub output_tokens: u64,
    /// Successful requests per second.
    pub requests_per_s: f64,
    /// Prompt tokens per second.
    pub input_tokens_per_s: f64,
    /// Output tokens per second.
    pub output_tokens_per_s: f64,
    /// Latencies of the requests.
    pub latencies: Latencies,
}

impl ConversationFigures {
    /// Computes the figures of a run's conversations by the policy of its metrics; absent for a run
    /// without conversations.
    pub fn of(log: &RunLog, metrics: &Metrics) -> Option<Self> {
        log.measured().find(|record| record.is_of_conversation())?;
        let scores = RequestScore::of_log(log, &metrics.policy);
        let turns = scores.iter().map(|score| score.turn + 1).max()?;
        let of_turn = |turn| -> Vec<RequestScore<'_>> {
            scores.iter().filter(|score| score.turn == turn).cloned().collect()
        };
        let conversations: Vec<&[RequestScore<'_>]> =
            scores.chunk_by(|one, next| one.index == next.index).collect();
        let failed = log.measured().filter(|record| !record.is_success()).count();
        let count = conversations.len() as f64;
        let good = scores.iter().filter(|score| score.success).count();
        let durations = conversations.iter().map(|turns| duration_s(turns));
        Some(Self {
            completed: log.measured().filter(|record| ended_well(record)).count(),
            failed,
            mean_turns: good as f64 / count,
            mean_duration_ms: durations.sum::<f64>() * 1000.0 / count,
            overall: TurnFigures::of(&scores, metrics),
            turns: (0..turns).map(|turn| TurnFigures::of(&of_turn(turn), metrics)).collect(),
        })
    }
}

/// Returns whether a request is a last turn that succeeded.
fn ended_well(record: &RequestRecord) -> bool {
    record.is_success() && record.planned.follow_ups == 0
}

fn duration_s(turns: &[RequestScore<'_>]) -> f64 {
    match turns {
        [first, .., last] => last.start_s + last.latency_s - first.start_s,
        [only] => only.latency_s,
        [] => 0.0,
    }
}

impl TurnFigures {
    fn of(scores: &[RequestScore<'_>], metrics: &Metrics) -> Self {
        let successes = || scores.iter().filter(|score| score.success);
        let (completed, seconds) = (successes().count(), metrics.duration_s);
        let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let input_tokens = successes().map(|score| u64::from(score.prompt_tokens)).sum();
        let output_tokens = successes().map(RequestScore::output_token_count).sum();
        Self {
            completed,
            failed: scores.len() - completed,
            input_tokens,
            output_tokens,
            requests_per_s: per_second(completed as u64),
            input_tokens_per_s: per_second(input_tokens),
            output_tokens_per_s: per_second(output_tokens),
            latencies: Latencies::of(&metrics.policy, scores, UnmetWaits::default()),
        }
    }
}
