//! Requests to Anthropic's `/v1/messages`, which SGLang and vLLM serve, too.

mod decoder;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_core::{ErrorKind, JsonObject, Prompt, RequestError, Sample};

pub use self::decoder::AnthropicDecoder;
use crate::payload::{Payload, text_of};
use crate::route::Dialect;
use crate::{Backend, CommonSpec, Route, WireRequest};

impl Route {
    /// Route of Anthropic's API.
    pub const ANTHROPIC: Self = Self::at("/v1/messages").with_messages();
}

/// The options of `/v1/messages`. The API cannot ignore end tokens, so [`CommonSpec::ignore_eos`]
/// is not sent; a server's own key for it belongs in the extra body.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct AnthropicSpec {
    /// The options that all dialects share.
    #[serde(flatten)]
    pub common: CommonSpec,
    /// The sampling temperature.
    pub temperature: f64,
    /// The probability mass of nucleus sampling; sent only if below one.
    pub top_p: f64,
}

impl AnthropicSpec {
    /// Returns a spec with greedy sampling.
    pub fn new(common: CommonSpec) -> Self {
        Self { common, temperature: 0.0, top_p: 1.0 }
    }
}

impl Default for AnthropicSpec {
    fn default() -> Self {
        Self::new(CommonSpec::default())
    }
}

impl Dialect for AnthropicSpec {
    fn route(&self) -> Route {
        Route::ANTHROPIC
    }
}

impl Backend for AnthropicSpec {
    type Decoder = AnthropicDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        if !sample.media.is_empty() {
            return Err(refused("pictures"));
        }
        let common = &self.common;
        let Conversation { system, messages } = Conversation::of(&sample.prompt)?;
        let body = Payload::default()
            .with("model", sample.adapter.as_deref().unwrap_or(&common.model))
            .with("max_tokens", sample.output_tokens)
            .with_some("system", system)
            .with("messages", messages)
            .with("stream", common.stream)
            .with("temperature", self.temperature)
            .with_some("top_p", (self.top_p < 1.0).then_some(self.top_p))
            .with_all(common.extra_for(sample));
        let version = [VERSION.map(str::to_owned).into()];
        let request = WireRequest::json(PATH, &body.into_object())?;
        request.with_headers(&version)?.with_headers(&sample.headers)
    }

    fn decoder(&self, sample: &Sample) -> AnthropicDecoder {
        AnthropicDecoder::new(sample)
    }
}

/// A prompt as the API takes it: system messages are a text of their own.
struct Conversation {
    system: Option<String>,
    messages: Vec<Value>,
}

impl Conversation {
    fn of(prompt: &Prompt) -> Result<Self, RequestError> {
        let Prompt::Messages(messages) = prompt else {
            let content = text_of(prompt, PATH)?;
            let messages = vec![json!({"role": "user", "content": content})];
            return Ok(Self { system: None, messages });
        };
        let is_system = |message: &&JsonObject| message.get("role") == Some(&json!("system"));
        let (system, others): (Vec<_>, Vec<_>) = messages.iter().partition(is_system);
        let texts = system.into_iter().map(text).collect::<Result<Vec<String>, _>>()?;
        let plain = |message: &JsonObject| {
            let role = message.get("role").cloned().unwrap_or_else(|| json!("user"));
            Ok(json!({"role": role, "content": text(message)?}))
        };
        Ok(Self {
            system: (!texts.is_empty()).then(|| texts.join("\n")),
            messages: others.into_iter().map(plain).collect::<Result<_, RequestError>>()?,
        })
    }
}

/// Returns the text of a message, whose content is a text or a list of texts.
fn text(message: &JsonObject) -> Result<String, RequestError> {
    match message.get("content") {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) => {
            let text = |part: &Value| part.get("text").and_then(Value::as_str).map(str::to_owned);
            let texts: Option<String> = parts.iter().map(text).collect();
            texts.ok_or_else(|| refused("parts of a message that are no text"))
        }
        Some(Value::Null) | None => Ok(String::new()),
        Some(_) => Err(refused("a message whose content is no text")),
    }
}

fn refused(what: &str) -> RequestError {
    let why = format!("{PATH} takes no {what} here; use a chat backend");
    RequestError::new(ErrorKind::Encode, why)
}

const PATH: &str = Route::ANTHROPIC.path();

/// The header with the version of the API, which Anthropic's own server demands.
const VERSION: [&str; 2] = ["anthropic-version", "2023-06-01"];

#[cfg(test)]
mod tests;
