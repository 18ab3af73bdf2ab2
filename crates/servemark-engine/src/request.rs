//! The form of a request to an engine.

use serde::{Deserialize, Serialize};
use serde_json::json;
use servemark_core::JsonObject;

/// The number of a request, unique for one engine.
pub type RequestId = u64;

/// A request to an engine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EngineRequest {
    /// The number of the request.
    pub id: RequestId,
    /// The model's input.
    pub prompt: EnginePrompt,
    /// The number of tokens in the prompt by this program's count.
    pub prompt_tokens: u32,
    /// The largest number of output tokens.
    pub output_tokens: u32,
    /// How the engine chooses tokens.
    pub sampling: Sampling,
    /// The adapter to generate with; the model itself if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
}

impl EngineRequest {
    /// Returns a request to the model itself. `prompt_tokens` is the number of ids of a prompt of
    /// token ids, else zero.
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

/// The model's input: tokens, text that the engine tokenizes, or a conversation that the engine
/// renders as text.
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
    /// The size of the prompt in bytes.
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

    /// Returns a conversation of one user message with this text.
    pub(crate) fn from_user_text(text: &str) -> Self {
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
pub struct Sampling {
    /// The sampling temperature; zero selects the likeliest token each time.
    pub temperature: f64,
    /// Whether generation continues past an end token up to the requested number of tokens.
    pub ignore_eos: bool,
    /// More parameters, by the engine's names; they override those above.
    #[serde(skip_serializing_if = "JsonObject::is_empty")]
    pub extra: JsonObject,
}

/// Greedy sampling of exactly the requested length: the common ground of both peers' offline
/// benchmarks, except for vLLM's temperature.
impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 0.0, ignore_eos: true, extra: JsonObject::new() }
    }
}
