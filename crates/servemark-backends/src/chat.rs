//! Requests to OpenAI's `/v1/chat/completions`.
//!
//! The order and the presence of the keys are those of SGLang 0.5.23's `benchmark/serving.py`. The
//! `openai` module reads the answers.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_core::{Medium, Prompt, RequestError, Sample};

use crate::payload::{Payload, text_of};
use crate::route::Dialect;
use crate::{Backend, CommonSpec, OpenAiDecoder, Route, WireRequest};

impl Route {
    /// OpenAI's route for chat completions.
    pub const CHAT: Self = Self::at("/v1/chat/completions").with_messages();
}

/// The options of `/v1/chat/completions`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ChatSpec {
    /// The options that all dialects share.
    #[serde(flatten)]
    pub common: CommonSpec,
    /// Whether streams are asked to report token counts. SGLang's client asks for them only in
    /// conversations of several turns.
    pub include_usage: bool,
}

impl ChatSpec {
    /// Returns a spec that requests no counts.
    pub fn new(common: CommonSpec) -> Self {
        Self { common, include_usage: false }
    }
}

impl Dialect for ChatSpec {
    fn route(&self) -> Route {
        Route::CHAT
    }
}

impl Backend for ChatSpec {
    type Decoder = OpenAiDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let Self { common, include_usage } = self;
        let path = Route::CHAT.path();
        let messages = match &sample.prompt {
            Prompt::Messages(messages) => json!(messages),
            prompt => {
                let content = content(text_of(prompt, path)?, &sample.media)?;
                json!([{"role": "user", "content": content}])
            }
        };
        let extra = common.extra_for(sample);
        let body = Payload::default()
            .with("model", common.model.as_str())
            .with("messages", messages)
            .with("max_completion_tokens", sample.output_tokens)
            .with("stream", common.stream)
            .with_default("temperature", 0.0, &extra)
            .with_default("ignore_eos", common.ignore_eos, &extra)
            .with_all(extra);
        let body = if *include_usage { body.with_usage_requested() } else { body };
        let body = body.with_adapter(sample);
        WireRequest::json(path, &body.into_object())?.with_headers(&sample.headers)
    }

    fn decoder(&self, sample: &Sample) -> OpenAiDecoder {
        OpenAiDecoder::new(sample)
    }
}

/// Returns the content of a message: a text, preceded by the pictures that it is about if there are
/// any.
fn content(text: Value, images: &[Medium]) -> Result<Value, RequestError> {
    if images.is_empty() {
        return Ok(text);
    }
    let parts = images
        .iter()
        .map(|image| Ok(json!({"type": "image_url", "image_url": {"url": image.uri()?}})));
    let text = Ok(json!({"type": "text", "text": text}));
    parts.chain([text]).collect::<Result<Vec<Value>, RequestError>>().map(Value::Array)
}
