//! vLLM's definitions, and the rules that were added for them.

use serde::{Deserialize, Serialize};

use super::{
    DurationRule, EmptySample, ItlRule, MetricPolicy, MissingTtft, OutputEvents, StreamRules,
    TokenSource, TpotRule,
};

impl MetricPolicy {
    /// Returns the definitions of vLLM 0.33.0.
    pub fn vllm() -> Self {
        let per_piece = StreamRules {
            events: OutputEvents::Any,
            itl: ItlRule::PerEvent,
            speculative_itl: None,
            output_tokens: vec![TokenSource::Usage, TokenSource::Retokenized],
        };
        Self {
            name: "vllm".to_owned(),
            generate: per_piece.clone(),
            embeddings: StreamRules::without_output(),
            others: per_piece,
            missing_ttft: MissingTtft::Zero,
            tpot: TpotRule::LatencyAfterFirst,
            end: EndRule::LastOutput,
            prompt_tokens: PromptTokenRule::Server,
            duration: DurationRule::BeganToEnd,
            percentiles: vec![99.0],
            empty: EmptySample::Zero,
            ..Self::sglang()
        }
    }
}

/// Instant to which an E2E latency counts.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndRule {
    /// The last byte of the answer.
    #[default]
    Answer,
    /// The last piece of output: counts and the end mark that come after it are left out. An answer
    /// without output ends with its last byte.
    LastOutput,
}

/// Source of the token counts of prompts.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptTokenRule {
    /// The data set's counts. In a run with conversations, whose prompts contain earlier answers,
    /// the server's counts.
    #[default]
    Planned,
    /// The data set's counts. In a run with conversations there are none.
    PlannedAlone,
    /// The server's counts, and the data set's where the server reports none.
    Server,
}
