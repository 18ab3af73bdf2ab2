//! Tokens of a run, who counted them, and the rates they make.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use servemark_core::{PieceCounts, RequestKey, RequestRecord, RunLog};

use crate::RequestScore;
use crate::policy::{MetricPolicy, PromptTokenRule, TokenSource};

/// Tokens of the requests that ended well.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TokenTotals {
    /// Prompt tokens, counted by whom the policy says.
    pub input: u64,
    /// The part of them that is text.
    pub input_text: u64,
    /// The part of them that is images.
    pub input_vision: u64,
    /// Prompt tokens that came from a prefix cache, where the server says.
    pub cached: Option<u64>,
    /// Output tokens; absent if nobody counted any.
    pub output: Option<u64>,
    /// Output tokens by our tokenizer; absent if nobody asked it.
    pub output_retokenized: Option<u64>,
    /// Who counted the output tokens of how many requests.
    pub sources: OutputSources,
    /// Who counted the tokens of how many pieces.
    pub events: EventTokens,
}

impl TokenTotals {
    pub(crate) fn of(log: &RunLog, policy: &MetricPolicy, scores: &[RequestScore<'_>]) -> Self {
        let successes = || scores.iter().filter(|score| score.success);
        let sum = |tokens: Count| successes().map(|score| u64::from(tokens(score))).sum::<u64>();
        let (input, text) = input(log, policy.prompt_tokens);
        Self {
            input: sum(input),
            input_text: sum(text),
            input_vision: sum(|score| score.planned.vision_tokens),
            cached: cached(log),
            output: total(successes().filter_map(|score| Some(score.output_tokens?.0))),
            output_retokenized: retokenized(log),
            sources: OutputSources::of(successes()),
            events: EventTokens::of(log),
        }
    }
}

type Count = fn(&RequestScore<'_>) -> u32;

/// Who counts the prompts, and their text.
fn input(log: &RunLog, rule: PromptTokenRule) -> (Count, Count) {
    let by_server = rule == PromptTokenRule::Server;
    if by_server || log.measured().any(RequestRecord::is_of_conversation) {
        let text: Count = |score| score.prompt_tokens.saturating_sub(score.planned.vision_tokens);
        (|score| score.prompt_tokens, text)
    } else {
        (|score| score.planned.prompt_tokens, |score| score.planned.text_tokens)
    }
}

/// Who counted the output tokens of how many requests.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OutputSources {
    /// The server's closing count.
    pub usage: usize,
    /// Our tokenizer.
    pub retokenized: usize,
    /// The counts that came with the pieces.
    pub deltas: usize,
    /// Nobody: the requested length was taken.
    pub requested: usize,
    /// Nobody: the request is in no token total.
    pub unknown: usize,
}

impl OutputSources {
    fn of<'a>(scores: impl Iterator<Item = &'a RequestScore<'a>>) -> Self {
        let mut sources = Self::default();
        for score in scores {
            *match score.output_tokens {
                Some((_, TokenSource::Usage)) => &mut sources.usage,
                Some((_, TokenSource::Retokenized)) => &mut sources.retokenized,
                Some((_, TokenSource::Deltas)) => &mut sources.deltas,
                Some((_, TokenSource::Requested)) => &mut sources.requested,
                None => &mut sources.unknown,
            } += 1;
        }
        sources
    }
}

/// Who counted the tokens of how many pieces of output. A piece that nobody counted is taken as one
/// token, and its inter-token latency is then one between pieces.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EventTokens {
    /// The server, on the wire.
    pub wire: usize,
    /// Our tokenizer.
    pub retokenized: usize,
    /// Nobody.
    pub assumed_one: usize,
}

impl EventTokens {
    fn of(log: &RunLog) -> Self {
        let mut events = Self::default();
        let pieces = retokenized_pieces(log);
        for record in log.measured().filter(|record| record.is_success()) {
            let mut counted =
                pieces.get(&record.key()).map(|pieces| pieces.iter()).unwrap_or_default();
            for row in record.deltas.rows() {
                *match (row.tokens, counted.next()) {
                    (None, _) if row.bytes == 0 => continue,
                    (Some(_), _) => &mut events.wire,
                    (None, Some(_)) => &mut events.retokenized,
                    (None, None) => &mut events.assumed_one,
                } += 1;
            }
        }
        events
    }
}

/// Rates over the run. Absent where the run has no length or the count is unknown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Throughput {
    /// Requests that ended well.
    pub requests_per_s: Option<f64>,
    /// Their prompt tokens.
    pub input_tokens_per_s: Option<f64>,
    /// Their output tokens.
    pub output_tokens_per_s: Option<f64>,
    /// Both.
    pub total_tokens_per_s: Option<f64>,
    /// Output tokens in the fullest second, as the policy finds it.
    pub peak_output_tokens_per_s: usize,
}

impl Throughput {
    pub(crate) fn of(completed: usize, tokens: &TokenTotals, peak: usize, duration_s: f64) -> Self {
        let per_second = |count: u64| (duration_s > 0.0).then(|| count as f64 / duration_s);
        Self {
            requests_per_s: per_second(completed as u64),
            input_tokens_per_s: per_second(tokens.input),
            output_tokens_per_s: tokens.output.and_then(per_second),
            total_tokens_per_s: per_second(tokens.input + tokens.output.unwrap_or_default()),
            peak_output_tokens_per_s: peak,
        }
    }
}

fn cached(log: &RunLog) -> Option<u64> {
    let successes = log.measured().filter(|record| record.is_success());
    total(successes.filter_map(|record| record.usage?.cached_tokens.map(u64::from)))
}

fn retokenized(log: &RunLog) -> Option<u64> {
    let failed: HashSet<RequestKey> =
        log.measured().filter(|record| !record.is_success()).map(RequestRecord::key).collect();
    let counts = log.footer()?.retokenized.iter();
    total(counts.filter(|count| !failed.contains(&count.key())).map(|count| count.tokens.into()))
}

fn retokenized_pieces(log: &RunLog) -> HashMap<RequestKey, &PieceCounts> {
    let counts = log.footer().map_or(&[][..], |footer| &footer.retokenized);
    counts.iter().map(|count| (count.key(), &count.pieces)).collect()
}

/// The sum of what is known; nothing if nothing is.
fn total(counts: impl Iterator<Item = u64>) -> Option<u64> {
    counts.reduce(|total, count| total + count)
}
