//! A request as an engine takes it.

use serde::{Deserialize, Serialize};
use servemark_core::JsonObject;

/// Which request of an engine's life.
pub type RequestId = u64;

/// A request as an engine takes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EngineRequest {
    /// Which one.
    pub id: RequestId,
    /// What the model is given.
    pub prompt: EnginePrompt,
    /// How many tokens it may make.
    pub output_tokens: u32,
    /// How it chooses them.
    pub sampling: Sampling,
}

impl EngineRequest {
    /// A request of its parts.
    pub fn new(
        id: RequestId,
        prompt: EnginePrompt,
        output_tokens: u32,
        sampling: Sampling,
    ) -> Self {
        Self { id, prompt, output_tokens, sampling }
    }
}

/// What the model is given. Closed: an engine reads tokens, or text that it makes tokens of.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EnginePrompt {
    /// Token ids.
    Ids(Vec<u32>),
    /// Text, for an engine with a tokenizer.
    Text(String),
}

impl EnginePrompt {
    /// How many bytes it holds.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Ids(ids) => ids.len() * size_of::<u32>(),
            Self::Text(text) => text.len(),
        }
    }
}

/// How an engine chooses tokens.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Sampling {
    /// Zero takes the likeliest token each time.
    pub temperature: f64,
    /// Whether it goes on behind the model's end to the number of tokens asked for.
    pub ignore_eos: bool,
    /// More parameters, by the engine's names; they win over those above.
    #[serde(skip_serializing_if = "JsonObject::is_empty")]
    pub extra: JsonObject,
}

/// Greedy, and as long as asked for: what both seeds' offline benchmarks have in common but for
/// vLLM's temperature.
impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 0.0, ignore_eos: true, extra: JsonObject::new() }
    }
}
