//! Requests of AISBench's client, class by class.
//!
//! The order, the presence and the JSON style of the keys are those of AISBench v3.1 (commit
//! 29c363e). The generation settings are copied into a body unchanged.

mod generated;
mod triton;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_core::{JsonObject, Prompt, RequestError, Sample};

pub use self::generated::GeneratedDecoder;
pub use self::triton::TritonDecoder;
use crate::payload::{Payload, text_of};
use crate::route::Dialect;
use crate::{Backend, CommonSpec, Decoder, OpenAiDecoder, Route, WireRequest, places};

/// A class of AISBench's service models, with its options.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AisbenchSpec {
    /// The class.
    pub class: AisbenchClass,
    /// The options that all dialects share. The generation settings are its extra body; these
    /// classes do not send `ignore_eos` on their own.
    #[serde(flatten)]
    pub common: CommonSpec,
}

impl AisbenchSpec {
    /// Returns a class with these options.
    pub fn new(class: AisbenchClass, common: CommonSpec) -> Self {
        Self { class, common }
    }

    /// Returns the path of requests, relative to the target's base URL. Triton's path names the
    /// model.
    pub fn path(&self) -> Cow<'static, str> {
        let streams = self.common.stream;
        match self.class {
            AisbenchClass::VllmChat => "/v1/chat/completions".into(),
            AisbenchClass::Vllm => "/v1/completions".into(),
            AisbenchClass::MindieStream => "/infer".into(),
            AisbenchClass::Tgi if streams => "/generate_stream".into(),
            AisbenchClass::Tgi => "/generate".into(),
            AisbenchClass::Triton => {
                let kind = if streams { "generate_stream" } else { "generate" };
                format!("/v2/models/{}/{kind}", self.common.model).into()
            }
        }
    }
}

/// A class of AISBench's models.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AisbenchClass {
    /// `VLLMCustomAPIChat`: chat.
    VllmChat,
    /// `VLLMCustomAPI`: text completions.
    Vllm,
    /// `MindieStreamApi`: `MindIE`'s own route, which always streams.
    MindieStream,
    /// `TGICustomAPI`: the routes of text-generation-inference.
    Tgi,
    /// `TritonCustomAPI`: Triton's generate extension.
    Triton,
}

impl AisbenchClass {
    /// All classes.
    pub const ALL: [Self; 5] =
        [Self::VllmChat, Self::Vllm, Self::MindieStream, Self::Tgi, Self::Triton];

    /// Returns the name of the class.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::VllmChat => "VLLMCustomAPIChat",
            Self::Vllm => "VLLMCustomAPI",
            Self::MindieStream => "MindieStreamApi",
            Self::Tgi => "TGICustomAPI",
            Self::Triton => "TritonCustomAPI",
        }
    }

    /// Whether the class sends messages. The others send the texts of messages, joined by line
    /// breaks.
    pub const fn sends_messages(self) -> bool {
        matches!(self, Self::VllmChat)
    }

    /// Whether the class sends the API key of its config.
    pub const fn sends_key(self) -> bool {
        matches!(self, Self::Vllm | Self::VllmChat)
    }
}

impl fmt::Display for AisbenchClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl AisbenchSpec {
    fn body(&self, sample: &Sample) -> Result<JsonObject, RequestError> {
        let streams = self.common.stream;
        let path = self.path();
        let text = || joined(&sample.prompt, &path);
        let body = Payload::default();
        Ok(match self.class {
            AisbenchClass::VllmChat => {
                let messages = messages(sample, &path)?;
                let body = body.with("stream", streams).with("messages", messages);
                let options = streams.then(|| json!({"include_usage": true}));
                self.limited(body.with_some("stream_options", options), sample)
            }
            AisbenchClass::Vllm => {
                let body = body.with("prompt", text()?).with("stream", streams);
                let body = self.limited(body, sample);
                if streams {
                    body.with("stream_options", json!({"include_usage": true}))
                } else {
                    body
                }
            }
            AisbenchClass::MindieStream => {
                let body = body.with("inputs", text()?).with("stream", true);
                body.with("parameters", self.parameters(sample))
            }
            AisbenchClass::Tgi => {
                body.with("inputs", text()?).with("parameters", self.parameters(sample))
            }
            AisbenchClass::Triton => body
                .with_some("id", sample.extra_body.get("id").cloned())
                .with("text_input", text()?)
                .with("parameters", self.parameters(sample)),
        }
        .into_object())
    }

    /// Adds the generation settings, then the length and the model, which override them.
    fn limited(&self, body: Payload, sample: &Sample) -> Payload {
        let common = &self.common;
        body.with_all(common.extra_for(sample))
            .with("max_tokens", sample.output_tokens)
            .with("model", sample.adapter.as_deref().unwrap_or(&common.model))
    }

    /// Returns the generation settings, the length and the adapter as an object of their own.
    /// Triton has no adapters.
    fn parameters(&self, sample: &Sample) -> JsonObject {
        let adapter = sample.adapter.as_deref();
        let adapter = adapter.filter(|_| self.class != AisbenchClass::Triton);
        Payload::default()
            .with_all(self.common.extra_body.clone())
            .with("max_new_tokens", sample.output_tokens)
            .with_some("adapter_id", adapter)
            .into_object()
    }
}

/// Returns a conversation with the content of each message first, or a text as a message of the
/// user.
fn messages(sample: &Sample, path: &str) -> Result<Value, RequestError> {
    match &sample.prompt {
        Prompt::Messages(messages) => {
            let messages: Vec<JsonObject> = messages.iter().map(content_first).collect();
            places::filled(&messages, &sample.media)
        }
        prompt => Ok(json!([{"role": "user", "content": text_of(prompt, path)?}])),
    }
}

/// Returns the text of a prompt; that of a conversation has a line for each message.
fn joined(prompt: &Prompt, path: &str) -> Result<Value, RequestError> {
    let Prompt::Messages(messages) = prompt else { return text_of(prompt, path) };
    let texts = messages.iter().map(|message| message.get("content")?.as_str());
    let texts: Option<Vec<&str>> = texts.collect();
    texts.map_or_else(|| text_of(prompt, path), |texts| Ok(texts.join("\n").into()))
}

fn content_first(message: &JsonObject) -> JsonObject {
    let named = ["content", "role"].into_iter().filter_map(|key| message.get_key_value(key));
    let others = message.iter().filter(|(key, _)| !["content", "role"].contains(&key.as_str()));
    named.chain(others).map(|(key, value)| (key.clone(), value.clone())).collect()
}

impl Dialect for AisbenchSpec {
    /// Returns what is known of the route: its path depends on the class and the model.
    fn route(&self) -> Route {
        Route::at("").with_messages()
    }

    fn own_path(&self) -> Option<Cow<'_, str>> {
        Some(self.path())
    }

    fn own_name(&self) -> Option<&str> {
        Some(self.class.as_str())
    }
}

impl Backend for AisbenchSpec {
    type Decoder = Box<dyn Decoder>;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let body = self.body(sample)?;
        WireRequest::python(self.path(), &body)?.with_headers(&sample.headers)
    }

    fn decoder(&self, sample: &Sample) -> Box<dyn Decoder> {
        match self.class {
            AisbenchClass::VllmChat | AisbenchClass::Vllm => Box::new(OpenAiDecoder::new(sample)),
            AisbenchClass::MindieStream | AisbenchClass::Tgi => {
                Box::new(GeneratedDecoder::new(sample))
            }
            AisbenchClass::Triton => Box::new(TritonDecoder::new(sample)),
        }
    }
}
