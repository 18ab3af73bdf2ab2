//! Policies that define the metrics: each definition on which the peers differ is a field.
//!
//! A policy is a value. Code reads its fields and never asks which peer it is of. SGLang's
//! definitions that depend on the route are three [`StreamRules`], selected by the path that the
//! run used.

mod aisbench;
mod evalscope;
mod rules;
mod vllm;

use serde::{Deserialize, Serialize};
use servemark_core::RunFacts;

pub use self::rules::{
    CountedRequests, DurationRule, EmptySample, FirstTokensOf, ItlRule, MissingTtft, Origin,
    OutputEvents, PeakRule, PercentileRule, RecountedText, SampleSize, StreamRules, TokenSource,
    TpotRule,
};
pub use self::vllm::{EndRule, PromptTokenRule};
use crate::{ConcurrencyRatio, OwnLatency, PlateauSpec, SampleBudget, Slo};

/// A set of definitions for scoring a run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct MetricPolicy {
    /// Name of the policy in a report.
    pub name: String,
    /// Rules for an answer on SGLang's own `/generate`.
    pub generate: StreamRules,
    /// Rules for an answer without output tokens: embeddings and rankings.
    pub embeddings: StreamRules,
    /// Rules for an answer on any other route.
    pub others: StreamRules,
    /// TTFT of a success without output.
    pub missing_ttft: MissingTtft,
    /// Definition of the time per output token.
    pub tpot: TpotRule,
    /// Instant from which TTFT and E2E latency count.
    pub origin: Origin,
    /// Instant to which E2E latency counts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub end: EndRule,
    /// Source of the token counts of prompts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub prompt_tokens: PromptTokenRule,
    /// Requests whose latencies are sampled.
    pub latencies_of: CountedRequests,
    /// Sampled requests that have a first token and a time per output token.
    #[serde(default, skip_serializing_if = "is_default")]
    pub first_tokens_of: FirstTokensOf,
    /// Requests that count as in flight, for the mean and the peak concurrency.
    pub in_flight_of: CountedRequests,
    /// Duration that rates are divided by.
    pub duration: DurationRule,
    /// Method by which peaks are found.
    pub peak: PeakRule,
    /// Percentiles that are reported, in percent.
    pub percentiles: Vec<f64>,
    /// Rule by which a percentile is read from a sorted sample.
    pub percentile_rule: PercentileRule,
    /// Number of samples that a percentile needs.
    pub sample_size: SampleSize,
    /// Values of an empty sample.
    pub empty: EmptySample,
    /// Objectives of goodput; if empty, goodput is not computed.
    pub slos: Vec<Slo>,
    /// Share of the peak concurrency from which on the run counts as steady; if absent, no steady
    /// state is computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_state: Option<ConcurrencyRatio>,
    /// Definition of the plateau; if absent, no plateau is computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plateau: Option<PlateauSpec>,
    /// Memory that a sample may take, and the treatment of a larger one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sample_budget: SampleBudget,
    /// Which text of an answer the tokenizer's count is of.
    #[serde(default, skip_serializing_if = "is_default")]
    pub recounted: RecountedText,
    /// Confidence of the intervals of figures, from 0 to 1; if absent, no intervals are computed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub confidence: Option<f64>,
    /// Latencies that the program defines, in addition to those of the policy.
    #[serde(skip)]
    pub own_latencies: Vec<OwnLatency>,
}

impl MetricPolicy {
    /// Returns the definitions of SGLang 0.5.23. Where its behaviour is a defect (the crash without
    /// a success, the duration that goes on after the last answer), the policy has the fixed
    /// definition instead.
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
            prompt_tokens: PromptTokenRule::PlannedAlone,
            latencies_of: CountedRequests::Successes,
            first_tokens_of: FirstTokensOf::default(),
            in_flight_of: CountedRequests::Successes,
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
            recounted: RecountedText::Joined,
            confidence: None,
            own_latencies: Vec::new(),
        }
    }

    /// Returns the definitions of SGLang 0.5.1: those of 0.5.23, but the time between pieces of a model
    /// with speculative decoding is never split among the tokens of a piece.
    pub fn sglang_0_5_1() -> Self {
        let newest = Self::sglang();
        Self {
            name: "sglang-0.5.1".to_owned(),
            others: StreamRules { speculative_itl: None, ..newest.others.clone() },
            ..newest
        }
    }

    /// Returns Servemark's own definitions: token-based, absent instead of zero, and a percentile
    /// only where the sample can resolve it.
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
            latencies_of: CountedRequests::Successes,
            first_tokens_of: FirstTokensOf::StreamedAlone,
            in_flight_of: CountedRequests::All,
            duration: DurationRule::FirstDueToLastByte,
            peak: PeakRule::Exact,
            percentiles: vec![50.0, 90.0, 95.0, 99.0, 99.9],
            percentile_rule: PercentileRule::Linear,
            sample_size: SampleSize::Resolving,
            empty: EmptySample::Absent,
            slos: Vec::new(),
            steady_state: None,
            plateau: None,
            sample_budget: SampleBudget::default(),
            recounted: RecountedText::default(),
            confidence: Some(0.95),
            own_latencies: Vec::new(),
        }
    }

    /// Returns the policy with more objectives. A second objective on the same latency replaces the
    /// first one in its place, as in SGLang.
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

    /// Returns the policy with a steady state from this share of the peak concurrency on, or
    /// without one.
    #[must_use]
    pub fn with_steady_state(self, ratio: Option<ConcurrencyRatio>) -> Self {
        Self { steady_state: ratio, ..self }
    }

    /// Returns the policy with other percentiles, in percent.
    #[must_use]
    pub fn with_percentiles(self, percentiles: Vec<f64>) -> Self {
        Self { percentiles, ..self }
    }

    /// Returns the policy with latencies that the program defines.
    #[must_use]
    pub fn with_own_latencies(self, latencies: impl IntoIterator<Item = OwnLatency>) -> Self {
        Self { own_latencies: latencies.into_iter().collect(), ..self }
    }

    /// Returns the policy with a plateau, or without one.
    #[must_use]
    pub fn with_plateau(self, plateau: Option<PlateauSpec>) -> Self {
        Self { plateau, ..self }
    }

    /// Returns the policy with another budget for its samples.
    #[must_use]
    pub fn with_sample_budget(self, budget: SampleBudget) -> Self {
        Self { sample_budget: budget, ..self }
    }

    /// Returns the rules by which the answers of a run are read.
    pub fn stream_rules(&self, facts: &RunFacts) -> &StreamRules {
        match facts.api_path.as_str() {
            "/generate" => &self.generate,
            _ if !facts.generates() => &self.embeddings,
            _ => &self.others,
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
