//! Sessions of several turns: how they ended, and what each turn was like.

use std::collections::BTreeMap;

use serde::Serialize;
use servemark_core::{RequestRecord, RunLog};

use crate::estimates::{estimated, in_time};
use crate::policy::MetricPolicy;
use crate::{RequestScore, Summary};

/// Sessions of several turns: how they ended, and what each turn was like.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SessionMetrics {
    /// How many began.
    pub begun: usize,
    /// How many ended before their last turn because a turn failed.
    pub ended_early: usize,
    /// Turns that were never sent because of that.
    pub turns_unsent: u64,
    /// What each turn was like, in order.
    pub turns: Vec<TurnMetrics>,
}

/// What the requests of one turn were like.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TurnMetrics {
    /// Which turn, from one.
    pub turn: u32,
    /// Whether the turns after it are counted with it.
    pub and_later: bool,
    /// How many requests it had.
    pub requests: usize,
    /// Those of them that failed.
    pub failed: usize,
    /// Time to first token.
    pub ttft: Summary,
    /// End-to-end latency.
    pub e2el: Summary,
    /// The mean prompt in tokens, history included: as the server counts it, else as planned.
    pub mean_prompt_tokens: Option<f64>,
    /// The share of the prompts that came from a prefix cache, where the server says.
    pub cached_share: Option<f64>,
}

/// Turns from here on are taken together.
const LAST_TURN: u32 = 8;

type Turn<'a> = Vec<(&'a RequestRecord, &'a RequestScore<'a>)>;

impl SessionMetrics {
    /// Nothing if every session is one request.
    pub(crate) fn of(
        log: &RunLog,
        policy: &MetricPolicy,
        scores: &[RequestScore<'_>],
    ) -> Option<Self> {
        let mut turns: BTreeMap<u32, Turn<'_>> = BTreeMap::new();
        for (record, score) in log.measured().zip(scores) {
            turns.entry((record.turn + 1).min(LAST_TURN)).or_default().push((record, score));
        }
        let records = || log.measured().filter(|record| record.is_of_conversation());
        let cut = || records().filter(|record| ended_early(record));
        records().next()?;
        Some(Self {
            begun: log.measured().filter(|record| record.turn == 0).count(),
            ended_early: cut().count(),
            turns_unsent: cut().map(|record| u64::from(record.planned.follow_ups)).sum(),
            turns: turns.iter().map(|(turn, of)| TurnMetrics::of(*turn, of, policy)).collect(),
        })
    }
}

impl TurnMetrics {
    fn of(turn: u32, requests: &Turn<'_>, policy: &MetricPolicy) -> Self {
        let successes = || requests.iter().filter(|(record, _)| record.is_success());
        let ttft: Vec<f64> = successes().filter_map(|(_, score)| score.ttft_s).collect();
        let e2el: Vec<f64> = successes().map(|(_, score)| score.latency_s).collect();
        let prompts: u64 = successes().map(|(_, score)| u64::from(score.prompt_tokens)).sum();
        let count = successes().count();
        let scores = in_time(successes().map(|(_, score)| *score));
        Self {
            turn,
            and_later: requests.iter().any(|(record, _)| record.turn >= turn),
            requests: requests.len(),
            failed: requests.len() - count,
            ttft: estimated(Summary::of(&ttft, policy), &scores, policy, |score| score.ttft_s),
            e2el: estimated(Summary::of(&e2el, policy), &scores, policy, |score| {
                Some(score.latency_s)
            }),
            mean_prompt_tokens: (count > 0).then(|| prompts as f64 / count as f64),
            cached_share: cached_share(successes().map(|(record, _)| *record)),
        }
    }
}

/// A turn that failed where others were to follow.
fn ended_early(record: &RequestRecord) -> bool {
    !record.is_success() && record.planned.follow_ups > 0
}

fn cached_share<'a>(records: impl Iterator<Item = &'a RequestRecord>) -> Option<f64> {
    let counts = records.filter_map(|record| {
        let usage = record.usage?;
        Some((u64::from(usage.cached_tokens?), u64::from(usage.prompt_tokens?)))
    });
    let (cached, prompt) = counts.reduce(|sum, next| (sum.0 + next.0, sum.1 + next.1))?;
    (prompt > 0).then(|| cached as f64 / prompt as f64)
}
