//! What `evalscope perf` asks for, API by API.
//!
//! The order and the presence of the keys are those of evalscope 1.14.1's plugins. Where routes
//! answer as they always do, the readers are those of the other dialects.

mod body;
mod dashscope;
mod decision;
mod flat;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{JsonObject, Prompt, RequestError, Sample};

pub use self::dashscope::DashscopeDecoder;
pub use self::decision::DecisionDecoder;
use crate::{
    Backend, CommonSpec, EmbeddingsDecoder, OpenAiDecoder, RerankDecoder, ResponsesDecoder,
    WireDecoder, WireRequest,
};

/// An API of evalscope's with its knobs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EvalscopeSpec {
    /// Which API.
    pub api: EvalscopeApi,
    /// What every dialect is told. A model without a name is not sent.
    #[serde(flatten)]
    pub common: CommonSpec,
    /// How tokens are chosen.
    #[serde(default)]
    pub sampling: Box<EvalscopeSampling>,
    /// A body whose messages are each request's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_template: Option<JsonObject>,
    /// Where requests go, from the target's base; where the API's servers usually have it, without
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
}

impl EvalscopeSpec {
    /// An API with evalscope's defaults: a stream that ends when the model does.
    pub fn new(api: EvalscopeApi, model: impl Into<String>) -> Self {
        let common = CommonSpec { ignore_eos: false, ..CommonSpec::new(model) };
        let sampling = Box::default();
        Self { api, common, sampling, query_template: None, endpoint: None }
    }

    /// Where requests go, from the target's base.
    pub fn path(&self) -> &str {
        self.endpoint.as_deref().unwrap_or(self.api.path())
    }
}

/// How tokens are chosen, in the order of the flags. What is not given is not sent.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EvalscopeSampling {
    /// `--min-tokens`.
    pub min_tokens: Option<u32>,
    /// `--frequency-penalty`.
    pub frequency_penalty: Option<f64>,
    /// `--repetition-penalty`.
    pub repetition_penalty: Option<f64>,
    /// `--logprobs`.
    pub logprobs: Option<bool>,
    /// `--n-choices`.
    pub choices: Option<u32>,
    /// `--seed`.
    pub seed: Option<i64>,
    /// `--stop`.
    pub stop: Option<Vec<String>>,
    /// `--stop-token-ids`, which are sent as texts.
    pub stop_token_ids: Option<Vec<String>>,
    /// `--temperature`.
    pub temperature: f64,
    /// `--top-p`.
    pub top_p: Option<f64>,
    /// `--top-k`.
    pub top_k: Option<i64>,
}

impl Default for EvalscopeSampling {
    fn default() -> Self {
        Self {
            min_tokens: None,
            frequency_penalty: None,
            repetition_penalty: None,
            logprobs: None,
            choices: None,
            seed: None,
            stop: None,
            stop_token_ids: None,
            temperature: 0.0,
            top_p: None,
            top_k: None,
        }
    }
}

/// What is spoken, as evalscope's `--api` tells it apart.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EvalscopeApi {
    /// Chat and text completions, whichever the URL has.
    Openai,
    /// Answers of the responses API.
    OpenaiResponses,
    /// Embeddings.
    OpenaiEmbedding,
    /// Rankings.
    OpenaiRerank,
    /// `DashScope`'s own route for texts.
    Dashscope,
    /// The body of evalscope's template for APIs of one's own.
    Custom,
    /// Decisions by System One's API: one typed question about a state.
    Systemone,
    /// Decisions by `AutoTrust`'s.
    Autotrust,
}

impl EvalscopeApi {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Openai,
        Self::OpenaiResponses,
        Self::OpenaiEmbedding,
        Self::OpenaiRerank,
        Self::Dashscope,
        Self::Custom,
        Self::Systemone,
        Self::Autotrust,
    ];

    /// The name as it is written; the first of them where there are several.
    pub const fn as_str(self) -> &'static str {
        self.names()[0]
    }

    /// Every name that stands for it.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Openai => &["openai"],
            Self::OpenaiResponses => &["openai_responses", "openai_response", "responses"],
            Self::OpenaiEmbedding => &["openai_embedding", "embedding"],
            Self::OpenaiRerank => &["openai_rerank", "rerank"],
            Self::Dashscope => &["dashscope"],
            Self::Custom => &["custom"],
            Self::Systemone => &["systemone"],
            Self::Autotrust => &["autotrust"],
        }
    }

    /// The API of a name that `--api` takes, if it is built.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.names().contains(&name))
    }

    /// Where its servers have it, from the target's base.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Openai | Self::Custom => "/v1/chat/completions",
            Self::OpenaiResponses => "/v1/responses",
            Self::OpenaiEmbedding => "/v1/embeddings",
            Self::OpenaiRerank => "/v1/reranks",
            Self::Dashscope => "/api/v1/services/aigc/text-generation/generation",
            Self::Systemone => "/v1/systemone",
            Self::Autotrust => "/v1/decide",
        }
    }

    /// Whether an answer is made of tokens.
    pub const fn generates(self) -> bool {
        !matches!(self, Self::OpenaiEmbedding | Self::OpenaiRerank) && !self.decides()
    }

    /// Whether an answer is a decision.
    pub const fn decides(self) -> bool {
        matches!(self, Self::Systemone | Self::Autotrust)
    }
}

impl fmt::Display for EvalscopeApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The codec of an API of evalscope's.
#[derive(Clone, Debug, PartialEq)]
pub struct EvalscopeBackend {
    spec: EvalscopeSpec,
}

impl EvalscopeBackend {
    /// A codec with these knobs.
    pub fn new(spec: EvalscopeSpec) -> Self {
        Self { spec }
    }

    fn body(&self, sample: &Sample) -> Result<JsonObject, RequestError> {
        let spec = &self.spec;
        match spec.api {
            EvalscopeApi::Openai => body::openai(spec, sample),
            EvalscopeApi::OpenaiResponses => body::responses(spec, sample),
            EvalscopeApi::OpenaiEmbedding => flat::embedding(spec, sample),
            EvalscopeApi::OpenaiRerank => flat::rerank(spec, sample),
            EvalscopeApi::Dashscope => dashscope::body(spec, sample),
            EvalscopeApi::Custom => body::custom(spec, sample),
            EvalscopeApi::Systemone | EvalscopeApi::Autotrust => decision::body(spec, sample),
        }
    }

    /// The path for a request to keep.
    fn endpoint(&self) -> Cow<'static, str> {
        match &self.spec.endpoint {
            Some(endpoint) => endpoint.clone().into(),
            None => self.spec.api.path().into(),
        }
    }
}

impl Backend for EvalscopeBackend {
    type Decoder = WireDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let mut body = self.body(sample)?;
        for (key, value) in &sample.extra_body {
            body.entry(key.as_str()).or_insert_with(|| value.clone());
        }
        let mut request = WireRequest::json(self.endpoint(), &body)?;
        if self.spec.api == EvalscopeApi::Dashscope && self.spec.common.stream {
            request = request.with_headers(&dashscope::streamed())?;
        }
        request.with_headers(&sample.headers)
    }

    fn decoder(&self, sample: &Sample) -> WireDecoder {
        match self.spec.api {
            EvalscopeApi::Openai | EvalscopeApi::Custom => {
                WireDecoder::OpenAi(OpenAiDecoder::new(sample))
            }
            EvalscopeApi::OpenaiResponses => WireDecoder::Responses(ResponsesDecoder::new(sample)),
            EvalscopeApi::OpenaiEmbedding => {
                WireDecoder::Embeddings(EmbeddingsDecoder::expecting(flat::texts(&sample.prompt)))
            }
            EvalscopeApi::OpenaiRerank => {
                let documents = flat::documents(&sample.prompt);
                let best = self.spec.common.extra_body.get("top_n").and_then(Value::as_u64);
                let expected = best.map_or(documents, |best| documents.min(best as usize));
                WireDecoder::Rerank(RerankDecoder::expecting(expected))
            }
            EvalscopeApi::Dashscope => WireDecoder::Dashscope(DashscopeDecoder::new(sample)),
            api @ (EvalscopeApi::Systemone | EvalscopeApi::Autotrust) => {
                WireDecoder::Decision(DecisionDecoder::new(sample, api))
            }
        }
    }
}

/// A prompt as the value of a key: a text, a conversation, or several texts.
fn value_of(sample: &Sample, path: &str) -> Result<Value, RequestError> {
    match &sample.prompt {
        Prompt::Messages(messages) => crate::places::filled(messages, &sample.media),
        Prompt::Texts(texts) => Ok(Value::from(texts.as_slice())),
        Prompt::Body(body) => Ok(Value::Object(body.clone())),
        prompt => crate::payload::text_of(prompt, path),
    }
}
