//! Whose definitions to score by: each definition on which the peers differ is a field.
//!
//! A policy is a value. Code asks what a field says and never whose policy it is; the route-dependent
//! definitions of SGLang are three [`StreamRules`] keyed on the path that the run used.

mod aisbench;
mod evalscope;
mod rules;
mod vllm;

use serde::{Deserialize, Serialize};
use servemark_core::RunFacts;

pub use self::rules::{
    Counted, DurationRule, EmptySample, FirstTokensOf, ItlRule, MissingTtft, Origin, OutputEvents,
    PeakRule, PercentileRule, SampleSize, StreamRules, TokenSource, TpotRule,
};
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
    /// Which of them have a first token and a time per output token.
    #[serde(default, skip_serializing_if = "is_default")]
    pub first_tokens_of: FirstTokensOf,
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
    /// Confidence of the intervals that numbers are given, from 0 to 1; a policy without one gives
    /// none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub confidence: Option<f64>,
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
            first_tokens_of: FirstTokensOf::default(),
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
            confidence: None,
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
            first_tokens_of: FirstTokensOf::StreamedAlone,
            in_flight_of: Counted::All,
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
            confidence: Some(0.95),
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

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
