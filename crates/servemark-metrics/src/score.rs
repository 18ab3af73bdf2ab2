//! One request's record as a policy reads it: times from its origin, gaps, and a token count.

use std::collections::HashMap;
use std::iter;

use servemark_core::{
    DeltaKind, Planned, RequestKey, RequestRecord, Retokenized, RunLog, Stamp, Usage,
};

use crate::policy::{
    ItlRule, MetricPolicy, MissingTtft, Origin, OutputEvents, StreamRules, TokenSource, TpotRule,
};

/// One request as a policy reads it. Times are in seconds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RequestScore {
    /// The request's session.
    pub index: usize,
    /// Its turn.
    pub turn: u32,
    /// Whether it ended well.
    pub success: bool,
    /// From when it was due to the instant from which its latencies count.
    pub waited_s: f64,
    /// That instant, since the run's clock started.
    pub start_s: f64,
    /// From there to its first token.
    pub ttft_s: Option<f64>,
    /// From there to its end.
    pub latency_s: f64,
    /// Its inter-token latencies, in order.
    pub itl_s: Vec<f64>,
    /// What enters the run's sample in their place, where the policy has another rule for a server
    /// that decodes speculatively.
    pub speculative_itl_s: Option<Vec<f64>>,
    /// From its first token to its last.
    pub decode_s: f64,
    /// Its output tokens, and who counted them.
    pub output_tokens: Option<(u64, TokenSource)>,
    /// The same by our tokenizer, if it was asked.
    pub retokenized_tokens: Option<u32>,
    /// Its prompt tokens as the server counts them, else as planned.
    pub prompt_tokens: u32,
    /// What the data set planned for it.
    pub planned: Planned,
}

impl RequestScore {
    /// The scores of a run's measurement, in the order of the plan.
    pub fn of_log(log: &RunLog, policy: &MetricPolicy) -> Vec<Self> {
        let reader = Reader::new(log, policy);
        log.measured().map(|record| reader.score(record)).collect()
    }

    /// How many tokens it gave; zero where nobody knows.
    pub fn output_token_count(&self) -> u64 {
        self.output_tokens.map_or(0, |(count, _)| count)
    }

    /// The inter-token latencies that enter the run's sample.
    pub(crate) fn itl_sample(&self) -> impl Iterator<Item = f64> + '_ {
        self.speculative_itl_s.as_ref().unwrap_or(&self.itl_s).iter().copied()
    }

    /// The time per output token; nothing for a request of one token, or of an unknown number.
    pub(crate) fn tpot_s(&self, rule: TpotRule) -> Option<f64> {
        let (tokens, _) = self.output_tokens.filter(|&(tokens, _)| tokens > 1)?;
        let decoding = match rule {
            TpotRule::FirstToLastToken => self.decode_s,
            TpotRule::LatencyAfterFirst => self.latency_s - self.ttft_s?,
        };
        Some(decoding / (tokens - 1) as f64)
    }

    /// When each token came, in seconds since the run's clock started.
    pub(crate) fn token_times(&self) -> impl Iterator<Item = f64> + '_ {
        let first = self.ttft_s.map(|ttft| self.start_s + ttft);
        let later = self.itl_s.iter().scan(first.unwrap_or_default(), |now, gap| {
            *now += gap;
            Some(*now)
        });
        first.into_iter().chain(later.take(if first.is_some() { usize::MAX } else { 0 }))
    }
}

/// A stamp in seconds. One division, so that a decimal number of seconds comes back as itself.
pub(crate) fn seconds(stamp: Stamp) -> f64 {
    stamp.as_nanos() as f64 / 1e9
}

/// The time between two stamps in seconds.
pub(crate) fn seconds_between(earlier: Stamp, later: Stamp) -> f64 {
    later.since(earlier).as_nanos() as f64 / 1e9
}

/// What is the same for every record of a log.
struct Reader<'a> {
    policy: &'a MetricPolicy,
    rules: &'a StreamRules,
    speculative: bool,
    retokenized: HashMap<RequestKey, &'a Retokenized>,
}

impl<'a> Reader<'a> {
    fn new(log: &'a RunLog, policy: &'a MetricPolicy) -> Self {
        let footer = log.footer();
        let counts = footer.map_or(&[][..], |footer| &footer.retokenized);
        Self {
            policy,
            rules: policy.stream_rules(&log.header().facts),
            speculative: footer.and_then(|footer| footer.accept_length).is_some_and(|n| n > 0.0),
            retokenized: counts.iter().map(|count| (count.key(), count)).collect(),
        }
    }

    fn score(&self, record: &RequestRecord) -> RequestScore {
        let counted = self.retokenized.get(&record.key()).copied();
        let events = events(record, counted, self.rules.events);
        let origin = self.origin(record);
        let speculative = self.rules.speculative_itl.filter(|_| self.speculative);
        RequestScore {
            index: record.index,
            turn: record.turn,
            success: record.is_success(),
            waited_s: seconds_between(record.scheduled, origin),
            start_s: seconds(origin),
            ttft_s: self.ttft(&events, origin),
            latency_s: seconds_between(origin, record.ended),
            itl_s: gaps(&events, self.rules.itl),
            speculative_itl_s: speculative.map(|rule| gaps(&events, rule)),
            decode_s: first_to_last(&events),
            output_tokens: self.output_tokens(record, counted),
            retokenized_tokens: counted.map(|counted| counted.tokens),
            prompt_tokens: prompt_tokens(record),
            planned: record.planned,
        }
    }

    fn origin(&self, record: &RequestRecord) -> Stamp {
        match self.policy.origin {
            Origin::Scheduled => record.scheduled,
            Origin::Sent => record.started(),
        }
    }

    fn ttft(&self, events: &[Event], origin: Stamp) -> Option<f64> {
        match (events.first(), self.policy.missing_ttft) {
            (Some(first), _) => Some(seconds_between(origin, first.at)),
            (None, MissingTtft::Zero) => Some(0.0),
            (None, MissingTtft::Absent) => None,
        }
    }

    fn output_tokens(
        &self,
        record: &RequestRecord,
        counted: Option<&Retokenized>,
    ) -> Option<(u64, TokenSource)> {
        let mut sources = self.rules.output_tokens.iter().filter(|_| record.is_success());
        sources.find_map(|&source| Some((tokens_by(source, record, counted)?, source)))
    }
}

/// A piece of output that a policy counts.
struct Event {
    at: Stamp,
    wire: Option<u32>,
    piece: Option<u32>,
}

impl Event {
    /// How many tokens it is by a rule that splits gaps.
    fn tokens(&self, rule: ItlRule) -> usize {
        let counted = match rule {
            ItlRule::PerEvent => None,
            ItlRule::PerToken => self.wire.or(self.piece),
            ItlRule::SplitByPieces => self.piece,
            ItlRule::SplitByWire => self.wire,
        };
        counted.map_or(1, |tokens| (tokens as usize).min(MOST_TOKENS_IN_A_PIECE))
    }
}

/// No engine decodes as many in one step; a server that claims more must not cost our memory.
const MOST_TOKENS_IN_A_PIECE: usize = 65_536;

fn events(record: &RequestRecord, counted: Option<&Retokenized>, rule: OutputEvents) -> Vec<Event> {
    let mut text_seen = false;
    let rows = record.deltas.rows().enumerate().filter(|(_, row)| {
        let is_text = row.bytes > 0 && row.kind != DeltaKind::ToolCall;
        text_seen |= is_text;
        match rule {
            OutputEvents::Any => row.bytes > 0 || row.tokens.is_some_and(|tokens| tokens > 0),
            OutputEvents::SinceFirstText => text_seen,
            OutputEvents::Text => is_text,
        }
    });
    let piece = |row: usize| counted.and_then(|counted| counted.pieces.get(row).copied());
    rows.map(|(row, delta)| Event { at: delta.at, wire: delta.tokens, piece: piece(row) }).collect()
}

fn gaps(events: &[Event], rule: ItlRule) -> Vec<f64> {
    let Some((first, later)) = events.split_first() else { return Vec::new() };
    let mut gaps = Vec::with_capacity(later.len());
    if rule == ItlRule::PerToken {
        gaps.resize(first.tokens(rule).saturating_sub(1), 0.0);
    }
    let mut since = first.at;
    for event in later {
        let parts = event.tokens(rule);
        if parts > 0 {
            let gap = seconds_between(since, event.at) / parts as f64;
            gaps.extend(iter::repeat_n(gap, parts));
        }
        if parts > 0 || rule == ItlRule::SplitByPieces {
            since = event.at;
        }
    }
    gaps
}

fn first_to_last(events: &[Event]) -> f64 {
    match events {
        [first, .., last] => seconds_between(first.at, last.at),
        _ => 0.0,
    }
}

fn tokens_by(
    source: TokenSource,
    record: &RequestRecord,
    counted: Option<&Retokenized>,
) -> Option<u64> {
    match source {
        TokenSource::Deltas => {
            let known = record.deltas.rows().filter_map(|row| row.tokens);
            known.map(u64::from).reduce(|total, tokens| total + tokens)
        }
        TokenSource::Requested => Some(record.planned.output_tokens.into()),
        TokenSource::Retokenized => counted.map(|counted| counted.tokens.into()),
        TokenSource::Usage => Some(record.usage?.completion_tokens?.into()),
    }
}

fn prompt_tokens(record: &RequestRecord) -> u32 {
    let by_server = |usage: Usage| usage.prompt_tokens.filter(|&tokens| tokens > 0);
    record.usage.and_then(by_server).unwrap_or(record.planned.prompt_tokens)
}
