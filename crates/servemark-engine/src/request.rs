//! A request as an engine takes it.

use serde::{Deserialize, Serialize};
use serde_json::json;
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
    /// How many tokens that is by our count.
    pub prompt_tokens: u32,
    /// How many tokens it may make.
    pub output_tokens: u32,
    /// How it chooses them.
    pub sampling: Sampling,
    /// The adapter that makes them; the model itself without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
}

impl EngineRequest {
    /// A request to the model itself, for a prompt that nobody has counted unless it is of tokens.
    pub fn new(
        id: RequestId,
        prompt: EnginePrompt,
        output_tokens: u32,
        sampling: Sampling,
    ) -> Self {
        let prompt_tokens = prompt.tokens();
        Self { id, prompt, prompt_tokens, output_tokens, sampling, adapter: None }
    }
}

/// What the model is given. Closed: an engine reads tokens, text that it makes tokens of, or a
/// conversation that it renders as text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EnginePrompt {
    /// Token ids.
    Ids(Vec<u32>),
    /// Text, for an engine with a tokenizer.
    Text(String),
    /// Messages, for an engine with a template for them.
    Chat(Vec<JsonObject>),
}

impl EnginePrompt {
    /// How many bytes it holds.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Ids(ids) => ids.len() * size_of::<u32>(),
            Self::Text(text) => text.len(),
            Self::Chat(messages) => serde_json::to_vec(messages).map_or(0, |text| text.len()),
        }
    }

    fn tokens(&self) -> u32 {
        match self {
            Self::Ids(ids) => u32::try_from(ids.len()).unwrap_or(u32::MAX),
            Self::Text(_) | Self::Chat(_) => 0,
        }
    }

    /// What a user says, as a conversation.
    pub(crate) fn said(text: &str) -> Self {
        let message = [
            ("role".to_owned(), json!("user")),
            ("content".to_owned(), json!([{"type": "text", "text": text}])),
        ];
        Self::Chat(vec![message.into_iter().collect()])
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
