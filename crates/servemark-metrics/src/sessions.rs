//! Sessions of several turns: how they ended, and the figures of each turn.

use std::collections::BTreeMap;

use serde::Serialize;
use servemark_core::{RequestRecord, RunLog};
use servemark_statistics::UnmetWaits;

use crate::estimates::{estimated, in_time};
use crate::policy::MetricPolicy;
use crate::{Latency, RequestScore, Summary};

/// Sessions of several turns: how they ended, and the figures of each turn.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SessionMetrics {
    /// Number of sessions that began.
    pub begun: usize,
    /// Number of sessions that ended before their last turn because a turn failed.
    pub ended_early: usize,
    /// Number of turns that were not sent because an earlier turn failed.
    pub turns_unsent: u64,
    /// Figures of each turn, in order.
    pub turns: Vec<TurnMetrics>,
}

/// Figures of the requests of one turn.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TurnMetrics {
    /// One-based number of the turn.
    pub turn: u32,
    /// Whether later turns are counted with this one.
    pub and_later: bool,
    /// Number of requests.
    pub requests: usize,
    /// Number of requests that failed.
    pub failed: usize,
    /// Time to first token.
    pub ttft: Summary,
    /// End-to-end latency.
    pub e2el: Summary,
    /// Mean number of prompt tokens, history included: as the server counts them, or else as
    /// planned.
    pub mean_prompt_tokens: Option<f64>,
    /// Share of the prompt tokens that came from a prefix cache, from 0 to 1; absent if the server
    /// does not report it.
    pub cached_share: Option<f64>,
}

/// First turn, one-based, that is merged with all later ones.
const LAST_TURN: u32 = 8;

type TurnRequests<'a> = Vec<(&'a RequestRecord, &'a RequestScore<'a>)>;

impl SessionMetrics {
    /// Computes the figures of a run; absent if every session is one request.
    pub(crate) fn of(
        log: &RunLog,
        policy: &MetricPolicy,
        scores: &[RequestScore<'_>],
    ) -> Option<Self> {
        let mut turns: BTreeMap<u32, TurnRequests<'_>> = BTreeMap::new();
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
    fn of(turn: u32, requests: &TurnRequests<'_>, policy: &MetricPolicy) -> Self {
        let successes = || requests.iter().filter(|(record, _)| record.is_success());
        let ttft: Vec<f64> = successes().filter_map(|(_, score)| score.ttft_s).collect();
        let e2el: Vec<f64> = successes().map(|(_, score)| score.latency_s).collect();
        let prompts: u64 = successes().map(|(_, score)| u64::from(score.prompt_tokens)).sum();
        let count = successes().count();
        let scores = in_time(successes().map(|(_, score)| *score));
        let summary = |latency: Latency, values: &[f64]| {
            let sample = || latency.sample(&scores, policy.tpot);
            estimated(Summary::of(values, policy), policy, UnmetWaits::default(), sample)
        };
        Self {
            turn,
            and_later: requests.iter().any(|(record, _)| record.turn >= turn),
            requests: requests.len(),
            failed: requests.len() - count,
            ttft: summary(Latency::Ttft, &ttft),
            e2el: summary(Latency::E2el, &e2el),
            mean_prompt_tokens: (count > 0).then(|| prompts as f64 / count as f64),
            cached_share: cached_share(successes().map(|(record, _)| *record)),
        }
    }
}

/// Returns whether a turn failed before others were to follow.
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
