//! Tokens of each prompt that were in a prefix cache, and those that could have been.

use servemark_core::{RequestRecord, RunLog};

use crate::RequestScore;

/// Tokens of a prompt that were in a prefix cache, and those that could have been.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Reuse {
    /// Tokens that were in the cache, as the server reports. In a run with conversations whose
    /// server reports none, all tokens of the previous turn count as cached, and none for a first
    /// turn.
    pub(crate) cached: Option<u64>,
    /// Prompt and output tokens of the previous turn, which could have been in the cache.
    pub(crate) eligible: u64,
}

/// Returns the reuse of each request of a log's measurement, in the order of its scores.
pub(crate) fn reuses(log: &RunLog, scores: &[RequestScore<'_>]) -> Vec<Reuse> {
    let has_turns = log.converses();
    let mut before: Option<&RequestScore<'_>> = None;
    let reuse = |(record, score)| {
        let earlier = before.replace(score).filter(|earlier| earlier.index == score.index);
        Reuse::of(record, score, earlier, has_turns)
    };
    log.measured().zip(scores).map(reuse).collect()
}

impl Reuse {
    fn of(
        record: &RequestRecord,
        score: &RequestScore<'_>,
        earlier: Option<&RequestScore<'_>>,
        has_turns: bool,
    ) -> Self {
        let left =
            |turn: &RequestScore<'_>| u64::from(turn.prompt_tokens) + turn.output_token_count();
        let eligible = earlier.map_or(0, left);
        let reported = record.usage.and_then(|usage| usage.cached_tokens).map(u64::from);
        let cached = reported.or(has_turns.then_some(eligible));
        Self { cached: cached.filter(|_| score.prompt_tokens > 0), eligible }
    }
}

/// Returns the share of all prompt tokens that was in a cache, in percent; absent if no request has
/// a count of cached tokens.
pub(crate) fn cached_percent(scores: &[RequestScore<'_>], reuses: &[Reuse]) -> Option<f64> {
    let known = scores.iter().zip(reuses).filter(|(score, _)| score.success);
    let counts =
        known.filter_map(|(score, reuse)| Some((reuse.cached?, u64::from(score.prompt_tokens))));
    let (cached, prompts) = counts.reduce(|sum, next| (sum.0 + next.0, sum.1 + next.1))?;
    (prompts > 0).then(|| cached as f64 * 100.0 / prompts as f64)
}
