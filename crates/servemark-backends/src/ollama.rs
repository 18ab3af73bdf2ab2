//! Requests to Ollama's own API, `/api/chat` and `/api/generate`.
//!
//! Both routes answer with lines of JSON, which the `decoder` module reads.

mod decoder;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_core::{ErrorKind, JsonObject, Prompt, RequestError, Sample};

pub use self::decoder::OllamaDecoder;
use crate::payload::{Payload, text_of};
use crate::route::Dialect;
use crate::{Backend, CommonSpec, Framing, Route, WireRequest};

/// A route of Ollama's API. Exhaustive: only these two generate text.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OllamaApi {
    /// The route `/api/chat`, which renders messages with the model's template.
    #[default]
    Chat,
    /// `/api/generate`, with a request not to apply a template (`raw`).
    Generate,
}

impl Route {
    /// Ollama's route for chats.
    pub const OLLAMA_CHAT: Self = Self::at("/api/chat").with_messages();
    /// Ollama's route for texts.
    pub const OLLAMA_GENERATE: Self = Self::at("/api/generate");
}

/// The options of Ollama's API. It cannot ignore end tokens, so [`CommonSpec::ignore_eos`] is not
/// sent.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct OllamaSpec {
    /// The route of the API.
    pub api: OllamaApi,
    /// The options that all dialects share. If the extra body has `options`, they are merged with
    /// those that are always sent, and replace those of equal name.
    #[serde(flatten)]
    pub common: CommonSpec,
    /// The sampling temperature.
    pub temperature: f64,
    /// The probability mass of nucleus sampling; sent only if below one.
    pub top_p: f64,
}

impl OllamaSpec {
    /// Returns a spec with greedy sampling.
    pub fn new(api: OllamaApi, common: CommonSpec) -> Self {
        Self { api, common, temperature: 0.0, top_p: 1.0 }
    }

    fn options(&self, sample: &Sample, own: Option<Value>) -> Value {
        let options = Payload::default()
            .with("num_predict", sample.output_tokens)
            .with("temperature", self.temperature)
            .with_some("top_p", (self.top_p < 1.0).then_some(self.top_p));
        match own {
            Some(Value::Object(own)) => options.with_all(own).into_object().into(),
            _ => options.into_object().into(),
        }
    }
}

impl Default for OllamaSpec {
    fn default() -> Self {
        Self::new(OllamaApi::default(), CommonSpec::default())
    }
}

impl OllamaSpec {
    fn payload(&self, sample: &Sample, path: &str) -> Result<Payload, RequestError> {
        let body = Payload::default().with("model", self.common.model.as_str());
        Ok(match (self.api, &sample.prompt) {
            (OllamaApi::Chat, Prompt::Messages(messages)) => {
                let messages = messages.iter().map(|message| plain(message, path));
                body.with("messages", messages.collect::<Result<Vec<Value>, _>>()?)
            }
            (OllamaApi::Chat, prompt) => {
                let content = text_of(prompt, path)?;
                body.with("messages", json!([{"role": "user", "content": content}]))
            }
            (OllamaApi::Generate, prompt) => {
                body.with("prompt", text_of(prompt, path)?).with("raw", true)
            }
        })
    }
}

impl Dialect for OllamaSpec {
    fn route(&self) -> Route {
        match self.api {
            OllamaApi::Chat => Route::OLLAMA_CHAT,
            OllamaApi::Generate => Route::OLLAMA_GENERATE,
        }
    }
}

impl Backend for OllamaSpec {
    type Decoder = OllamaDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let path = self.route().path();
        if !sample.media.is_empty() {
            return Err(refused(path, "pictures"));
        }
        let mut extra = self.common.extra_for(sample);
        let options = self.options(sample, extra.shift_remove("options"));
        let body = self
            .payload(sample, path)?
            .with("stream", self.common.stream)
            .with("options", options)
            .with_all(extra);
        WireRequest::json(path, &body.into_object())?.with_headers(&sample.headers)
    }

    fn decoder(&self, sample: &Sample) -> OllamaDecoder {
        OllamaDecoder::new(sample)
    }

    fn framing(&self) -> Framing {
        if self.common.stream { Framing::Lines } else { Framing::Document }
    }
}

/// Returns a message with its content as one text, the only form that the API accepts.
fn plain(message: &JsonObject, path: &str) -> Result<Value, RequestError> {
    let Some(parts) = message.get("content").and_then(Value::as_array) else {
        return Ok(json!(message));
    };
    let text = |part: &Value| {
        let text = part.get("text").and_then(Value::as_str).map(str::to_owned);
        text.ok_or_else(|| refused(path, "parts of a message that are no text"))
    };
    let texts = parts.iter().map(text).collect::<Result<Vec<String>, _>>()?;
    let mut message = message.clone();
    message.insert("content".to_owned(), texts.concat().into());
    Ok(json!(message))
}

fn refused(path: &str, what: &str) -> RequestError {
    RequestError::new(ErrorKind::Encode, format!("{path} takes no {what}; use a chat backend"))
}

#[cfg(test)]
mod tests;
