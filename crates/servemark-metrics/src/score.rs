//! Scores one request's record under a policy: times from its origin, gaps, and a token count.

use std::collections::HashMap;
use std::iter;

use servemark_core::{
    Planned, RequestKey, RequestRecord, Retokenized, RunFacts, RunLog, Stamp, Usage,
};

use crate::events::Events;
use crate::gaps::{Gaps, GapsIter};
use crate::policy::{
    EndRule, FirstTokensOf, MetricPolicy, MissingTtft, Origin, OutputEvents, StreamRules,
    TokenSource, TpotRule,
};
use crate::seconds::{seconds, seconds_between};
use crate::{AnatomyFacts, RequestAnatomy, RequestPart};

/// One request as a policy scores it. Times are in seconds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RequestScore<'a> {
    /// Index of the request's session.
    pub index: usize,
    /// Zero-based turn of the request in its session.
    pub turn: u32,
    /// Whether the request succeeded.
    pub success: bool,
    /// Whether the answer was a stream of events.
    pub streamed: bool,
    /// Time from due to `start_s`.
    pub waited_s: f64,
    /// Part of `waited_s` that the request waited for the concurrency limit; the rest is the client's
    /// own delay.
    pub gate_wait_s: f64,
    /// Instant from which latencies count, since the run's clock started.
    pub start_s: f64,
    /// Time from `start_s` to the first token.
    pub ttft_s: Option<f64>,
    /// Time from `start_s` to the end.
    pub latency_s: f64,
    /// Inter-token latencies.
    pub itl_s: Gaps<'a>,
    /// Inter-token latencies that enter the run's sample instead of `itl_s`; present if the policy
    /// has another rule for a server that decodes speculatively.
    pub speculative_itl_s: Option<Gaps<'a>>,
    /// Time from the first token to the last.
    pub decode_s: f64,
    /// Number of events from the first token on, including events without output.
    pub steps: u64,
    /// Number of tokens of the first piece of output, as the policy splits pieces into tokens; zero
    /// without output.
    pub first_tokens: u64,
    /// Number of output tokens and the source of the count.
    pub output_tokens: Option<(u64, TokenSource)>,
    /// Number of output tokens by Servemark's tokenizer, if it counted them.
    pub retokenized_tokens: Option<u32>,
    /// Number of prompt tokens as the server counts them, or else as planned.
    pub prompt_tokens: u32,
    /// Sizes of the request as the data set planned them.
    pub planned: Planned,
    /// Parts of the request's time in milliseconds, as far as the policy asks for them and they are
    /// known.
    pub parts_ms: Vec<(RequestPart, f64)>,
}

impl<'a> RequestScore<'a> {
    /// Scores the requests of a run's measurement, in the order of the plan.
    pub fn of_log(log: &'a RunLog, policy: &MetricPolicy) -> Vec<Self> {
        let reader = Reader::new(log, policy);
        log.measured().map(|record| reader.score(record)).collect()
    }

    /// Scores the probes of a run, which were sent beside the measurement.
    pub(crate) fn of_probes(log: &'a RunLog, policy: &MetricPolicy) -> Vec<Self> {
        let reader = Reader::new(log, policy);
        log.probes().map(|record| reader.score(record)).collect()
    }

    /// Scores a request of a run in progress, of which only the header's facts are known. The score
    /// does not borrow from the record and has no inter-token latencies.
    pub(crate) fn of_record(
        record: &RequestRecord,
        facts: &RunFacts,
        policy: &MetricPolicy,
    ) -> RequestScore<'static> {
        let score = Reader::of_facts(facts, policy).score(record);
        RequestScore { itl_s: Vec::new().into(), speculative_itl_s: None, ..score }
    }

    /// Scores a request of a run in progress like [`of_record`](Self::of_record), with its
    /// inter-token latencies.
    pub(crate) fn of_record_with_gaps(
        record: &RequestRecord,
        facts: &RunFacts,
        policy: &MetricPolicy,
    ) -> RequestScore<'static> {
        let score = Reader::of_facts(facts, policy).score(record);
        let gaps: Vec<f64> = score.itl_sample().collect();
        RequestScore { itl_s: gaps.into(), speculative_itl_s: None, ..score }
    }

    /// Returns a part of the request's time in seconds, if the policy asks for it and it is known.
    pub fn part_s(&self, part: RequestPart) -> Option<f64> {
        let found = self.parts_ms.iter().find(|(known, _)| *known == part);
        found.map(|(_, ms)| ms / 1e3)
    }

    /// Returns the number of output tokens; zero if it is not known.
    pub fn output_token_count(&self) -> u64 {
        self.output_tokens.map_or(0, |(count, _)| count)
    }

    /// Returns the inter-token latencies that enter the run's sample.
    pub(crate) fn itl_sample(&self) -> GapsIter<'_> {
        self.speculative_itl_s.as_ref().unwrap_or(&self.itl_s).iter()
    }

    /// Returns the time per output token. It is absent, or zero by
    /// [`TpotRule::LatencyAfterFirstElseZero`], for a request of one token or of an unknown number.
    /// By [`TpotRule::FirstToLastToken`] it is also absent if all tokens came with the first piece.
    pub fn tpot_s(&self, rule: TpotRule) -> Option<f64> {
        let Some((tokens, _)) = self.output_tokens.filter(|&(tokens, _)| tokens > 1) else {
            return (rule == TpotRule::LatencyAfterFirstElseZero).then_some(0.0);
        };
        match rule {
            TpotRule::FirstToLastToken => {
                let later =
                    tokens.checked_sub(self.first_tokens.max(1)).filter(|later| *later > 0)?;
                Some(self.decode_s / later as f64)
            }
            TpotRule::LatencyAfterFirst | TpotRule::LatencyAfterFirstElseZero => {
                Some((self.latency_s - self.ttft_s?) / (tokens - 1) as f64)
            }
        }
    }

    /// Returns when the request ended, in seconds since the run's clock started.
    pub fn end_s(&self) -> f64 {
        self.start_s + self.latency_s
    }

    /// Returns when each token came, in seconds since the run's clock started.
    pub fn token_times(&self) -> impl Iterator<Item = f64> + '_ {
        let mut now = self.ttft_s.map(|ttft| self.start_s + ttft);
        let mut gaps = self.itl_s.iter();
        iter::from_fn(move || {
            let time = now?;
            now = gaps.next().map(|gap| time + gap);
            Some(time)
        })
    }
}

/// Scoring state that all records of a log share.
struct Reader<'a, 'p> {
    policy: &'p MetricPolicy,
    rules: &'p StreamRules,
    speculative: bool,
    has_limit: bool,
    retokenized: HashMap<RequestKey, &'a Retokenized>,
    parts: Vec<RequestPart>,
    anatomy: AnatomyFacts,
}

impl<'a, 'p> Reader<'a, 'p> {
    /// Creates a reader for a run that is not over.
    fn of_facts(facts: &RunFacts, policy: &'p MetricPolicy) -> Self {
        let rules = policy.stream_rules(facts);
        Self {
            policy,
            rules,
            speculative: false,
            has_limit: facts.max_concurrency.is_some(),
            retokenized: HashMap::new(),
            // The server's clock is placed when all requests are known.
            parts: Vec::new(),
            anatomy: AnatomyFacts::default(),
        }
    }

    fn new(log: &'a RunLog, policy: &'p MetricPolicy) -> Self {
        let footer = log.footer();
        let counts = footer.map_or(&[][..], |footer| &footer.retokenized);
        let parts = policy.parts_in_use();
        Self {
            policy,
            rules: policy.stream_rules(&log.header().facts),
            speculative: footer.and_then(|footer| footer.accept_length).is_some_and(|n| n > 0.0),
            has_limit: log.header().facts.max_concurrency.is_some(),
            retokenized: counts.iter().map(|count| (count.key(), count)).collect(),
            anatomy: if parts.is_empty() { AnatomyFacts::default() } else { AnatomyFacts::of(log) },
            parts,
        }
    }

    fn score(&self, record: &'a RequestRecord) -> RequestScore<'a> {
        let counted = self.retokenized.get(&record.key()).copied();
        let events = Events::of(record, counted, self.rules.events);
        let first_event = events.clone().next();
        let mut times = events.clone().map(|event| event.at);
        let first = times.next();
        let (later, last) = times.fold((0, first), |(later, _), at| (later + 1, Some(at)));
        let origin = self.origin(record);
        let speculative = self.rules.speculative_itl.filter(|_| self.speculative);
        let has_first = self.has_first(record);
        let gaps = |rule| {
            if has_first { Gaps::between(events.clone(), rule) } else { Vec::new().into() }
        };
        RequestScore {
            index: record.index,
            turn: record.turn,
            success: record.is_success(),
            streamed: !record.is_document,
            waited_s: seconds_between(record.scheduled, origin),
            gate_wait_s: self.gate_wait_s(record, origin),
            start_s: seconds(origin),
            ttft_s: self.ttft(first.filter(|_| has_first), origin),
            latency_s: seconds_between(origin, self.end(record, last)),
            speculative_itl_s: speculative.map(gaps),
            itl_s: gaps(self.rules.itl),
            steps: first.map_or(0, |_| 1 + later + self.silent_steps(record)),
            decode_s: first.zip(last).map_or(0.0, |(first, last)| seconds_between(first, last)),
            first_tokens: first_event.map_or(0, |first| first.tokens(self.rules.itl) as u64),
            output_tokens: self.output_tokens(record, counted),
            retokenized_tokens: counted.map(|counted| self.policy.recounted.of(counted)),
            prompt_tokens: prompt_tokens(record),
            planned: record.planned,
            parts_ms: self.parts_ms(record),
        }
    }

    fn parts_ms(&self, record: &RequestRecord) -> Vec<(RequestPart, f64)> {
        if self.parts.is_empty() {
            return Vec::new();
        }
        let anatomy = RequestAnatomy::of(record, &self.anatomy);
        let of = |anatomy: RequestAnatomy| {
            self.parts.iter().filter_map(move |part| Some((*part, anatomy.part_ms(*part)?)))
        };
        anatomy.into_iter().flat_map(of).collect()
    }

    /// Returns the number of events without output that the policy's events do not contain.
    fn silent_steps(&self, record: &RequestRecord) -> u64 {
        match self.rules.events {
            OutputEvents::Every => 0,
            _ => record.silent_events.into(),
        }
    }

    fn origin(&self, record: &RequestRecord) -> Stamp {
        match self.policy.origin {
            Origin::Scheduled => record.scheduled,
            Origin::Sent => record.started(),
        }
    }

    /// Returns the part of the wait until `origin` that the concurrency limit caused. Where the log does
    /// not say when a limit let the request pass, it is the whole wait.
    fn gate_wait_s(&self, record: &RequestRecord, origin: Stamp) -> f64 {
        let passed = match record.granted {
            Some(granted) => granted.min(origin),
            None if self.has_limit => origin,
            None => record.scheduled,
        };
        seconds_between(record.scheduled, passed)
    }

    fn end(&self, record: &RequestRecord, last: Option<Stamp>) -> Stamp {
        match self.policy.end {
            EndRule::Answer => record.ended,
            EndRule::LastOutput => last.unwrap_or(record.ended),
        }
    }

    fn has_first(&self, record: &RequestRecord) -> bool {
        !record.is_document || self.policy.first_tokens_of != FirstTokensOf::StreamedAlone
    }

    fn ttft(&self, first: Option<Stamp>, origin: Stamp) -> Option<f64> {
        match (first, self.policy.missing_ttft) {
            (Some(first), _) => Some(seconds_between(origin, first)),
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
