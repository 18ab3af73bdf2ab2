//! Numbers of tokens of a run, the sources of the counts, and rates.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use servemark_core::{PieceCounts, RequestKey, RequestRecord, RunLog};

use crate::RequestScore;
use crate::policy::{MetricPolicy, PromptTokenRule, RecountedText, TokenSource};

/// Numbers of tokens of the requests that succeeded.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TokenTotals {
    /// Prompt tokens, by the source that the policy names.
    pub input: u64,
    /// Prompt tokens of text.
    pub input_text: u64,
    /// Prompt tokens of images.
    pub input_vision: u64,
    /// Prompt tokens that came from a prefix cache; absent if the server does not report them.
    pub cached: Option<u64>,
    /// Output tokens; absent if no counts are known.
    pub output: Option<u64>,
    /// Output tokens by Servemark's tokenizer; absent if it counted none.
    pub output_retokenized: Option<u64>,
    /// Number of requests by the source of their output token count.
    pub sources: OutputSources,
    /// Number of pieces by the source of their token count.
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
            output_retokenized: retokenized(log, policy.recounted),
            sources: OutputSources::of(successes()),
            events: EventTokens::of(log),
        }
    }
}

type Count = fn(&RequestScore<'_>) -> u32;

/// Returns the functions that count the prompt tokens of a request, and those of its text.
fn input(log: &RunLog, rule: PromptTokenRule) -> (Count, Count) {
    match rule {
        _ if !counts_input(log, rule) => (|_| 0, |_| 0),
        PromptTokenRule::Planned if converses(log) => BY_SERVER,
        PromptTokenRule::Planned | PromptTokenRule::PlannedAlone => {
            (|score| score.planned.prompt_tokens, |score| score.planned.text_tokens)
        }
        PromptTokenRule::Server => BY_SERVER,
    }
}

/// Returns whether the prompt tokens of a run are counted. SGLang does not count those of
/// conversations.
pub(crate) fn counts_input(log: &RunLog, rule: PromptTokenRule) -> bool {
    // SGLang treats each row of this data set as a conversation, even one of a single turn.
    let is_agentic = || log.header().facts.dataset == "agentic-trace";
    rule != PromptTokenRule::PlannedAlone || !(converses(log) || is_agentic())
}

fn converses(log: &RunLog) -> bool {
    log.measured().any(RequestRecord::is_of_conversation)
}

/// Reads the prompt tokens that the server counted.
const BY_SERVER: (Count, Count) = (
    |score| score.prompt_tokens,
    |score| score.prompt_tokens.saturating_sub(score.planned.vision_tokens),
);

/// Number of requests by the source of their output token count.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OutputSources {
    /// Number of requests counted by the server's closing count.
    pub usage: usize,
    /// Number of requests counted by Servemark's tokenizer.
    pub retokenized: usize,
    /// Number of requests counted by the counts that came with the pieces.
    pub deltas: usize,
    /// Number of requests without a count, for which the requested length was taken.
    pub requested: usize,
    /// Number of requests without a count, which are in no token total.
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

/// Number of pieces of output by the source of their token count. A piece without a count is taken
/// as one token, and its inter-token latency is then one between pieces.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EventTokens {
    /// Number of pieces whose tokens the server counts on the wire.
    pub wire: usize,
    /// Number of pieces whose tokens Servemark's tokenizer counts.
    pub retokenized: usize,
    /// Number of pieces without a count, each taken as one token.
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

/// Rates over the run. A rate is absent if the run has no duration or the count is unknown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Throughput {
    /// Successful requests per second.
    pub requests_per_s: Option<f64>,
    /// Prompt tokens of the successful requests per second.
    pub input_tokens_per_s: Option<f64>,
    /// Output tokens of the successful requests per second.
    pub output_tokens_per_s: Option<f64>,
    /// Prompt and output tokens of the successful requests per second.
    pub total_tokens_per_s: Option<f64>,
    /// Output tokens in the fullest second, by the policy's rule.
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

fn retokenized(log: &RunLog, recounted: RecountedText) -> Option<u64> {
    let failed: HashSet<RequestKey> =
        log.measured().filter(|record| !record.is_success()).map(RequestRecord::key).collect();
    let counts = log.footer()?.retokenized.iter();
    let successes = counts.filter(|count| !failed.contains(&count.key()));
    total(successes.map(|count| recounted.of(count).into()))
}

fn retokenized_pieces(log: &RunLog) -> HashMap<RequestKey, &PieceCounts> {
    let counts = log.footer().map_or(&[][..], |footer| &footer.retokenized);
    counts.iter().map(|count| (count.key(), &count.pieces)).collect()
}

/// Returns the sum of the known counts; absent if none is known.
fn total(counts: impl Iterator<Item = u64>) -> Option<u64> {
    counts.reduce(|total, count| total + count)
}
