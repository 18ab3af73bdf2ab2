//! Requests of `evalscope perf`, API by API.
//!
//! The order and the presence of the keys are those of evalscope 1.14.1's plugins. Routes that
//! answer as usual use the decoders of the other dialects.

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
use crate::route::Dialect;
use crate::{
    Backend, CommonSpec, Decoder, EmbeddingsDecoder, OpenAiDecoder, RerankDecoder,
    ResponsesDecoder, Route, WireRequest,
};

/// An API of evalscope, with its options.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EvalscopeSpec {
    /// The API.
    pub api: EvalscopeApi,
    /// The options that all dialects share. An empty model name is not sent.
    #[serde(flatten)]
    pub common: CommonSpec,
    /// The sampling parameters.
    #[serde(default)]
    pub sampling: Box<EvalscopeSampling>,
    /// A template of the body, into which each request puts its own prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_template: Option<JsonObject>,
    /// Whether requests for embeddings and rankings have `max_tokens`, as evalscope sends it with
    /// conversations of recorded lengths.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_max_tokens: bool,
    /// The path of requests, relative to the target's base URL; the API's usual path if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
}

impl EvalscopeSpec {
    /// Returns an API with evalscope's defaults: a stream that ends at the model's end token.
    pub fn new(api: EvalscopeApi, model: impl Into<String>) -> Self {
        let common = CommonSpec { ignore_eos: false, ..CommonSpec::new(model) };
        let sampling = Box::default();
        let (query_template, endpoint) = (None, None);
        Self { api, common, sampling, query_template, has_max_tokens: false, endpoint }
    }

    /// Returns the path of requests, relative to the target's base URL.
    pub fn path(&self) -> &str {
        self.endpoint.as_deref().unwrap_or(self.api.path())
    }
}

/// Sampling parameters in the order of the flags. Parameters that are absent are not sent.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EvalscopeSampling {
    /// The value of `--min-tokens`.
    pub min_tokens: Option<u32>,
    /// The value of `--frequency-penalty`.
    pub frequency_penalty: Option<f64>,
    /// The value of `--repetition-penalty`.
    pub repetition_penalty: Option<f64>,
    /// The value of `--logprobs`.
    pub logprobs: Option<bool>,
    /// The value of `--n-choices`.
    pub choices: Option<u32>,
    /// The value of `--seed`.
    pub seed: Option<i64>,
    /// The values of `--stop`.
    pub stop: Option<Vec<String>>,
    /// The values of `--stop-token-ids`, which are sent as strings.
    pub stop_token_ids: Option<Vec<String>>,
    /// The value of `--temperature`.
    pub temperature: f64,
    /// The value of `--top-p`.
    pub top_p: Option<f64>,
    /// The value of `--top-k`.
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

/// An API, as selected by evalscope's `--api`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EvalscopeApi {
    /// Chat or text completions, depending on the URL.
    Openai,
    /// The responses API.
    OpenaiResponses,
    /// Embeddings of texts.
    OpenaiEmbedding,
    /// Rankings of documents.
    OpenaiRerank,
    /// `DashScope`'s own route for texts.
    Dashscope,
    /// The body of evalscope's template for a user's own API.
    Custom,
    /// Decisions by System One's API: one typed question about a state.
    Systemone,
    /// Decisions by `AutoTrust`'s API.
    Autotrust,
}

impl EvalscopeApi {
    /// All APIs.
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

    /// Returns the name as given on the command line; the first one if there are several.
    pub const fn as_str(self) -> &'static str {
        self.names()[0]
    }

    /// Returns all names of the API.
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

    /// Returns the API with a name that `--api` accepts, if it is implemented.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.names().contains(&name))
    }

    /// Returns the route. Every API takes messages; a template may turn them into something else.
    pub(crate) const fn route(self) -> Route {
        let route = match self {
            Self::Openai => Route::at("/v1/chat/completions").with_ids(),
            Self::Custom => Route::at("/v1/chat/completions"),
            Self::OpenaiResponses => Route::at("/v1/responses"),
            Self::OpenaiEmbedding => Route::at("/v1/embeddings").with_scores(),
            Self::OpenaiRerank => Route::at("/v1/reranks").with_scores(),
            Self::Dashscope => Route::at("/api/v1/services/aigc/text-generation/generation"),
            Self::Systemone => Route::at("/v1/systemone").with_scores(),
            Self::Autotrust => Route::at("/v1/decide").with_scores(),
        };
        route.with_messages()
    }

    /// Returns the usual path, relative to the target's base URL.
    pub const fn path(self) -> &'static str {
        self.route().path()
    }

    /// Whether an answer consists of tokens.
    pub const fn generates(self) -> bool {
        self.route().generates()
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

impl EvalscopeSpec {
    fn body(&self, sample: &Sample) -> Result<JsonObject, RequestError> {
        let spec = self;
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

    /// Returns the path, owned by the request.
    fn endpoint(&self) -> Cow<'static, str> {
        match &self.endpoint {
            Some(endpoint) => endpoint.clone().into(),
            None => self.api.path().into(),
        }
    }
}

impl Dialect for EvalscopeSpec {
    /// Returns the API's usual route.
    fn route(&self) -> Route {
        self.api.route()
    }

    fn own_path(&self) -> Option<Cow<'_, str>> {
        Some(self.path().into())
    }

    fn own_name(&self) -> Option<&str> {
        Some(self.api.as_str())
    }
}

impl Backend for EvalscopeSpec {
    type Decoder = Box<dyn Decoder>;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let mut body = self.body(sample)?;
        for (key, value) in &sample.extra_body {
            body.entry(key.as_str()).or_insert_with(|| value.clone());
        }
        let mut request = WireRequest::json(self.endpoint(), &body)?;
        if self.api == EvalscopeApi::Dashscope && self.common.stream {
            request = request.with_headers(&dashscope::streamed())?;
        }
        request.with_headers(&sample.headers)
    }

    fn decoder(&self, sample: &Sample) -> Box<dyn Decoder> {
        match self.api {
            EvalscopeApi::Openai | EvalscopeApi::Custom => Box::new(OpenAiDecoder::new(sample)),
            EvalscopeApi::OpenaiResponses => Box::new(ResponsesDecoder::new(sample)),
            EvalscopeApi::OpenaiEmbedding => {
                Box::new(EmbeddingsDecoder::expecting(flat::texts(&sample.prompt)))
            }
            EvalscopeApi::OpenaiRerank => {
                let documents = flat::documents(&sample.prompt);
                let best = self.common.extra_body.get("top_n").and_then(Value::as_u64);
                let expected = best.map_or(documents, |best| documents.min(best as usize));
                Box::new(RerankDecoder::expecting(expected))
            }
            EvalscopeApi::Dashscope => Box::new(DashscopeDecoder::new(sample)),
            api @ (EvalscopeApi::Systemone | EvalscopeApi::Autotrust) => {
                Box::new(DecisionDecoder::new(sample, api))
            }
        }
    }
}

/// Returns a prompt as the value of a key: a text, a conversation, several texts or a whole body.
fn value_of(sample: &Sample, path: &str) -> Result<Value, RequestError> {
    match &sample.prompt {
        Prompt::Messages(messages) => crate::places::filled(messages, &sample.media),
        Prompt::Texts(texts) => Ok(Value::from(texts.as_slice())),
        Prompt::Body(body) => Ok(Value::Object(body.clone())),
        prompt => crate::payload::text_of(prompt, path),
    }
}
