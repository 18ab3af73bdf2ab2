//! vLLM's definitions, and the rules that only they need.

use serde::{Deserialize, Serialize};

use super::{
    DurationRule, EmptySample, ItlRule, MetricPolicy, MissingTtft, OutputEvents, StreamRules,
    TokenSource, TpotRule,
};

impl MetricPolicy {
    /// vLLM 0.33.0, definition for definition.
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

/// To which instant an E2E latency counts.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EndRule {
    /// The last byte of the answer.
    #[default]
    Answer,
    /// The last piece of output: counts and the end mark that come after it are left out. An answer
    /// without output ends with its last byte.
    LastOutput,
}

/// Who counts the tokens of prompts.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PromptTokenRule {
    /// The data set; in a run with conversations, whose prompts hold the answers before, the
    /// server.
    #[default]
    Planned,
    /// The server, and the data set where the server says nothing.
    Server,
}
