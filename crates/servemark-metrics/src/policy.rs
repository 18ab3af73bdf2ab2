//! Whose definitions to score by: each definition on which the peers differ is a field.
//!
//! A policy is a value. Code asks what a field says and never whose policy it is; the route-dependent
//! definitions of SGLang are three [`StreamRules`] keyed on the path that the run used.

mod vllm;

use serde::{Deserialize, Serialize};
use servemark_core::RunFacts;

pub use self::vllm::{EndRule, PromptTokenRule};
use crate::{ConcurrencyRatio, PlateauSpec, SampleBudget, Slo};

/// Whose definitions to score by.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MetricPolicy {
    /// What it is called in a report.
    pub name: String,
    /// How an answer on SGLang's own `/generate` is read.
    pub generate: StreamRules,
    /// How an answer without output tokens is read: embeddings and rankings.
    pub embeddings: StreamRules,
    /// How an answer on any other route is read.
    pub others: StreamRules,
    /// What stands for the TTFT of a success without output.
    pub missing_ttft: MissingTtft,
    /// What the time per output token is made of.
    pub tpot: TpotRule,
    /// From which instant TTFT and E2E latency count.
    pub origin: Origin,
    /// To which instant E2E latency counts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub end: EndRule,
    /// Who counts the tokens of prompts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub prompt_tokens: PromptTokenRule,
    /// Whose latencies are in the samples.
    pub latencies_of: Counted,
    /// Who is in flight, for the mean and the peak concurrency.
    pub in_flight_of: Counted,
    /// What rates are divided by.
    pub duration: DurationRule,
    /// How peaks are found.
    pub peak: PeakRule,
    /// Which percentiles are wanted, in percent.
    pub percentiles: Vec<f64>,
    /// How a percentile is read off a sorted sample.
    pub percentile_rule: PercentileRule,
    /// How many samples a percentile needs.
    pub sample_size: SampleSize,
    /// What an empty sample shows.
    pub empty: EmptySample,
    /// The objectives of goodput; none, no goodput.
    pub slos: Vec<Slo>,
    /// From which share of the peak concurrency on the run counts as steady; none, no steady state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_state: Option<ConcurrencyRatio>,
    /// From when to when the run counts as being at its load; none, no plateau.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plateau: Option<PlateauSpec>,
    /// How much memory a sample may take, and what becomes of a larger one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sample_budget: SampleBudget,
}

impl MetricPolicy {
    /// SGLang 0.5.23, definition for definition. Where its behaviour is a defect (the crash without
    /// a success, the duration that goes on after the last answer) the fixed one stands instead.
    pub fn sglang() -> Self {
        Self {
            name: "sglang".to_owned(),
            generate: StreamRules {
                events: OutputEvents::SinceFirstText,
                itl: ItlRule::SplitByWire,
                speculative_itl: None,
                output_tokens: vec![TokenSource::Deltas, TokenSource::Requested],
            },
            embeddings: StreamRules::without_output(),
            others: StreamRules {
                events: OutputEvents::Text,
                itl: ItlRule::PerEvent,
                speculative_itl: Some(ItlRule::SplitByPieces),
                output_tokens: vec![TokenSource::Usage, TokenSource::Requested],
            },
            missing_ttft: MissingTtft::Zero,
            tpot: TpotRule::LatencyAfterFirst,
            origin: Origin::Sent,
            end: EndRule::default(),
            prompt_tokens: PromptTokenRule::default(),
            latencies_of: Counted::Successes,
            in_flight_of: Counted::Successes,
            duration: DurationRule::FirstDueToEnd,
            peak: PeakRule::SecondBuckets,
            percentiles: vec![90.0, 95.0, 99.0],
            percentile_rule: PercentileRule::Linear,
            sample_size: SampleSize::Any,
            empty: EmptySample::ZeroButE2el,
            slos: Vec::new(),
            steady_state: None,
            plateau: None,
            sample_budget: SampleBudget::default(),
        }
    }

    /// Ours: true to tokens, absent instead of zero, and a percentile only where the sample can
    /// resolve it.
    pub fn native() -> Self {
        let token_true = StreamRules {
            events: OutputEvents::Any,
            itl: ItlRule::PerToken,
            speculative_itl: None,
            output_tokens: vec![TokenSource::Usage, TokenSource::Retokenized, TokenSource::Deltas],
        };
        Self {
            name: "native".to_owned(),
            generate: token_true.clone(),
            embeddings: StreamRules::without_output(),
            others: token_true,
            missing_ttft: MissingTtft::Absent,
            tpot: TpotRule::FirstToLastToken,
            origin: Origin::Sent,
            end: EndRule::default(),
            prompt_tokens: PromptTokenRule::default(),
            latencies_of: Counted::Successes,
            in_flight_of: Counted::All,
            duration: DurationRule::FirstDueToEnd,
            peak: PeakRule::Exact,
            percentiles: vec![50.0, 90.0, 95.0, 99.0, 99.9],
            percentile_rule: PercentileRule::Linear,
            sample_size: SampleSize::Resolving,
            empty: EmptySample::Absent,
            slos: Vec::new(),
            steady_state: None,
            plateau: None,
            sample_budget: SampleBudget::default(),
        }
    }

    /// The same policy with objectives. An objective given twice keeps its place and takes the
    /// last limit, as SGLang has it.
    #[must_use]
    pub fn with_slos(mut self, slos: impl IntoIterator<Item = Slo>) -> Self {
        for slo in slos {
            match self.slos.iter_mut().find(|known| known.metric == slo.metric) {
                Some(known) => *known = slo,
                None => self.slos.push(slo),
            }
        }
        self
    }

    /// The same policy with a steady state from so large a share of the peak concurrency on, or
    /// without one.
    #[must_use]
    pub fn with_steady_state(self, ratio: Option<ConcurrencyRatio>) -> Self {
        Self { steady_state: ratio, ..self }
    }

    /// The same policy with other percentiles, in percent.
    #[must_use]
    pub fn with_percentiles(self, percentiles: Vec<f64>) -> Self {
        Self { percentiles, ..self }
    }

    /// The same policy with a plateau, or without one.
    #[must_use]
    pub fn with_plateau(self, plateau: Option<PlateauSpec>) -> Self {
        Self { plateau, ..self }
    }

    /// The same policy with another budget for its samples.
    #[must_use]
    pub fn with_sample_budget(self, budget: SampleBudget) -> Self {
        Self { sample_budget: budget, ..self }
    }

    /// How the answers of a run are read.
    pub fn stream_rules(&self, facts: &RunFacts) -> &StreamRules {
        match facts.api_path.as_str() {
            "/generate" => &self.generate,
            _ if !facts.generates() => &self.embeddings,
            _ => &self.others,
        }
    }
}

/// How a streamed answer is read.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StreamRules {
    /// Which pieces are output; the first of them is the first token.
    pub events: OutputEvents,
    /// What one inter-token latency is.
    pub itl: ItlRule,
    /// What it is instead when the server says that it decodes speculatively.
    pub speculative_itl: Option<ItlRule>,
    /// Who is asked for the number of output tokens, the first that knows wins.
    pub output_tokens: Vec<TokenSource>,
}

impl StreamRules {
    fn without_output() -> Self {
        Self {
            events: OutputEvents::Any,
            itl: ItlRule::PerEvent,
            speculative_itl: None,
            output_tokens: Vec::new(),
        }
    }
}

/// Which pieces of an answer are output.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputEvents {
    /// Every piece with text or tokens, of whatever kind.
    Any,
    /// Every piece from the first with text of the answer or its reasoning.
    SinceFirstText,
    /// Every piece with text of the answer or its reasoning; tool calls are not output.
    Text,
}

/// What one inter-token latency is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ItlRule {
    /// One per piece: the gap before it.
    PerEvent,
    /// One per token. A later piece of k tokens gives k equal parts of its gap; the first piece's
    /// surplus tokens came with the first token and give zeros. So N tokens have N-1 entries, and
    /// their sum is the time from the first token to the last. A piece's tokens are counted by the
    /// wire, else by re-tokenization, else taken as one.
    PerToken,
    /// A later piece of k tokens, counted by re-tokenization, gives k equal parts of its gap; a
    /// piece without tokens gives none and its gap is lost.
    SplitByPieces,
    /// A later piece of k tokens, counted by the wire, gives k equal parts of its gap; a piece
    /// without tokens leaves its gap to the next.
    SplitByWire,
}

/// Who is asked for the number of output tokens.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TokenSource {
    /// The counts that the wire gives with the pieces.
    Deltas,
    /// What was asked for.
    Requested,
    /// Our tokenizer, over the text.
    Retokenized,
    /// The server's closing count.
    Usage,
}

/// What stands for the TTFT of a success without output.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MissingTtft {
    /// Nothing: it is not in the sample.
    Absent,
    /// Zero.
    Zero,
}

/// What the time per output token is made of, for requests of more than one token.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TpotRule {
    /// From the first token to the last, over the tokens after the first.
    FirstToLastToken,
    /// From the first token to the end of the stream, over the tokens after the first.
    LatencyAfterFirst,
}

/// From which instant a latency counts.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Origin {
    /// When it was due: response time, the client's own queue included.
    Scheduled,
    /// When it was sent: service time.
    Sent,
}

/// Which requests count.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Counted {
    /// Every request that was sent.
    All,
    /// Those that ended well.
    Successes,
}

/// What rates are divided by.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DurationRule {
    /// From when the load began to when the last request was done. The first may be due later.
    BeganToEnd,
    /// From when the first request was due to when the last was done.
    FirstDueToEnd,
    /// From when the first request was sent to when the last was done.
    FirstSentToEnd,
}

/// How peaks are found.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PeakRule {
    /// By a sweep over every start and end, and the fullest second wherever it begins.
    Exact,
    /// By seconds counted from the first start: requests that touch the same second count as
    /// concurrent.
    SecondBuckets,
}

/// How a percentile is read off a sorted sample.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PercentileRule {
    /// `NumPy`'s default: linear between the two neighbours of rank q(n-1).
    Linear,
    /// The smallest value that a share of q of the sample does not exceed.
    NearestRank,
}

/// How many samples a percentile needs.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SampleSize {
    /// One.
    Any,
    /// As many as make one of them lie beyond it: 10 for p90, 100 for p99, 1000 for p99.9. Below
    /// that the number would be an interpolation towards the maximum.
    Resolving,
}

/// What an empty sample shows.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EmptySample {
    /// Nothing.
    Absent,
    /// Zeros.
    Zero,
    /// Zeros, except for the E2E latency, which is absent: a server that answered nothing did not
    /// answer in no time.
    ZeroButE2el,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
