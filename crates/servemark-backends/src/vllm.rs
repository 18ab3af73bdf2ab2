//! Requests of vLLM's own client, route by route.
//!
//! The order and the presence of the keys are those of vLLM 0.33.0's `bench serve`. OpenAI's routes
//! that answer as usual use the decoders of the other dialects.

mod audio;
mod pooling;
mod prompt;
mod responses;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_core::{Prompt, RequestError, Sample};

pub use self::pooling::PoolingDecoder;
pub use self::responses::ResponsesDecoder;
use crate::payload::{Payload, cannot_say};
use crate::route::Dialect;
use crate::{
    Backend, CommonSpec, Decoder, EmbeddingsDecoder, OpenAiDecoder, RerankDecoder, Route,
    WireRequest,
};

/// A dialect of vLLM's client, with its options.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VllmSpec {
    /// The dialect.
    pub dialect: VllmDialect,
    /// The options that all dialects share.
    #[serde(flatten)]
    pub common: CommonSpec,
    /// The number of likeliest tokens for which log probabilities are requested; only completions
    /// send it.
    #[serde(default)]
    pub logprobs: Option<i64>,
    /// The path of requests, relative to the target's base URL; the dialect's usual path if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
}

impl VllmSpec {
    /// Returns a dialect without log probabilities.
    pub fn new(dialect: VllmDialect, common: CommonSpec) -> Self {
        Self { dialect, common, logprobs: None, endpoint: None }
    }

    /// Returns the path of requests, relative to the target's base URL.
    pub fn path(&self) -> &str {
        self.endpoint.as_deref().unwrap_or(self.dialect.path())
    }
}

/// A dialect, as selected by vLLM's `--backend`. `vllm` is another name for `openai`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum VllmDialect {
    /// Text completions.
    Openai,
    /// Transcriptions of audio.
    OpenaiAudio,
    /// Chat completions.
    OpenaiChat,
    /// Embeddings of texts.
    OpenaiEmbeddings,
    /// Embeddings of chat messages.
    OpenaiEmbeddingsChat,
    /// Embeddings of chat messages; a picture is sent without its text.
    OpenaiEmbeddingsClip,
    /// Embeddings of chat messages; a picture is sent with the text of every other request.
    OpenaiEmbeddingsVlm2vec,
    /// The responses API.
    OpenaiResponses,
    /// Infinity's embeddings.
    InfinityEmbeddings,
    /// Infinity's embeddings; a picture is sent without its text.
    InfinityEmbeddingsClip,
    /// vLLM's pooling API.
    VllmPooling,
    /// Rankings of documents.
    VllmRerank,
}

impl VllmDialect {
    /// All dialects, in vLLM's order.
    pub const ALL: [Self; 12] = [
        Self::Openai,
        Self::OpenaiChat,
        Self::OpenaiResponses,
        Self::OpenaiAudio,
        Self::OpenaiEmbeddings,
        Self::OpenaiEmbeddingsChat,
        Self::OpenaiEmbeddingsClip,
        Self::OpenaiEmbeddingsVlm2vec,
        Self::InfinityEmbeddings,
        Self::InfinityEmbeddingsClip,
        Self::VllmPooling,
        Self::VllmRerank,
    ];

    /// Returns the name as given on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::OpenaiAudio => "openai-audio",
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiEmbeddings => "openai-embeddings",
            Self::OpenaiEmbeddingsChat => "openai-embeddings-chat",
            Self::OpenaiEmbeddingsClip => "openai-embeddings-clip",
            Self::OpenaiEmbeddingsVlm2vec => "openai-embeddings-vlm2vec",
            Self::OpenaiResponses => "openai-responses",
            Self::InfinityEmbeddings => "infinity-embeddings",
            Self::InfinityEmbeddingsClip => "infinity-embeddings-clip",
            Self::VllmPooling => "vllm-pooling",
            Self::VllmRerank => "vllm-rerank",
        }
    }

    /// Returns the dialect with a name that vLLM's `--backend` accepts, if it is implemented.
    pub fn of(name: &str) -> Option<Self> {
        let name = if name == "vllm" { "openai" } else { name };
        Self::ALL.into_iter().find(|dialect| dialect.as_str() == name)
    }

    /// Returns the route.
    pub(crate) const fn route(self) -> Route {
        match self {
            Self::Openai => Route::COMPLETIONS,
            Self::OpenaiAudio => Route::at("/v1/audio/transcriptions"),
            Self::OpenaiChat => Route::CHAT,
            Self::OpenaiEmbeddings
            | Self::OpenaiEmbeddingsChat
            | Self::OpenaiEmbeddingsClip
            | Self::OpenaiEmbeddingsVlm2vec => Route::at("/v1/embeddings").with_scores(),
            Self::OpenaiResponses => Route::at("/v1/responses"),
            Self::InfinityEmbeddings | Self::InfinityEmbeddingsClip => {
                Route::at("/embeddings").with_scores()
            }
            Self::VllmPooling => Route::at("/pooling").with_scores(),
            Self::VllmRerank => Route::RERANK,
        }
    }

    /// Returns the usual path, relative to the target's base URL.
    pub const fn path(self) -> &'static str {
        self.route().path()
    }

    /// Returns the suffixes, one of which the URL of requests must have.
    pub const fn suffixes(self) -> &'static [&'static str] {
        match self {
            Self::Openai => &["completions"],
            Self::OpenaiAudio => &["transcriptions", "translations"],
            Self::OpenaiChat => &["chat/completions"],
            Self::OpenaiResponses => &["responses"],
            Self::OpenaiEmbeddings
            | Self::OpenaiEmbeddingsChat
            | Self::OpenaiEmbeddingsClip
            | Self::OpenaiEmbeddingsVlm2vec
            | Self::InfinityEmbeddings
            | Self::InfinityEmbeddingsClip => &["embeddings"],
            Self::VllmPooling => &["pooling"],
            Self::VllmRerank => &["rerank"],
        }
    }

    /// Returns the name of the route in vLLM's messages.
    pub const fn api(self) -> &'static str {
        match self {
            Self::Openai => "OpenAI Completions API",
            Self::OpenaiAudio => "OpenAI Audio API",
            Self::OpenaiChat => "OpenAI Chat Completions API",
            Self::OpenaiResponses => "OpenAI Responses API",
            Self::OpenaiEmbeddings
            | Self::OpenaiEmbeddingsChat
            | Self::OpenaiEmbeddingsClip
            | Self::OpenaiEmbeddingsVlm2vec => "OpenAI Embeddings API",
            Self::InfinityEmbeddings | Self::InfinityEmbeddingsClip => "Infinity Embeddings API",
            Self::VllmPooling => "vLLM Pooling API",
            Self::VllmRerank => "vLLM score API",
        }
    }

    /// Whether an answer consists of tokens.
    pub const fn generates(self) -> bool {
        self.route().generates()
    }
}

impl fmt::Display for VllmDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl VllmSpec {
    fn body(&self, sample: &Sample) -> Result<Payload, RequestError> {
        match self.dialect {
            VllmDialect::Openai => self.completions(sample),
            VllmDialect::OpenaiAudio => Ok(self.transcription(sample)),
            VllmDialect::OpenaiChat => self.chat(sample),
            VllmDialect::OpenaiResponses => self.responses(sample),
            VllmDialect::OpenaiEmbeddings => {
                let input = prompt::inputs(sample, self.path())?;
                Ok(self.body_with_model(sample).with("input", input).with(CUT, WHERE_IT_MUST))
            }
            VllmDialect::OpenaiEmbeddingsChat
            | VllmDialect::OpenaiEmbeddingsClip
            | VllmDialect::OpenaiEmbeddingsVlm2vec => {
                let messages = prompt::to_embed(self.dialect, sample)?;
                Ok(self.body_with_model(sample).with("messages", messages).with(CUT, WHERE_IT_MUST))
            }
            VllmDialect::InfinityEmbeddings | VllmDialect::InfinityEmbeddingsClip => {
                self.infinity(sample)
            }
            VllmDialect::VllmPooling => {
                let input = prompt::inputs(sample, self.path())?;
                Ok(self.body_with_model(sample).with(CUT, WHERE_IT_MUST).with("input", input))
            }
            VllmDialect::VllmRerank => self.rerank(sample),
        }
    }

    fn completions(&self, sample: &Sample) -> Result<Payload, RequestError> {
        Ok(self
            .body_with_model(sample)
            .with("prompt", prompt::inputs(sample, self.path())?)
            .with("repetition_penalty", 1.0)
            .with("max_tokens", sample.output_tokens)
            .with("logprobs", json!(self.logprobs))
            .with("stream", self.common.stream)
            .with_some("stream_options", self.usage_wanted()))
    }

    fn chat(&self, sample: &Sample) -> Result<Payload, RequestError> {
        Ok(self
            .body_with_model(sample)
            .with("messages", prompt::messages(sample, self.path())?)
            .with("max_completion_tokens", sample.output_tokens)
            .with("stream", self.common.stream)
            .with_some("stream_options", self.usage_wanted()))
    }

    /// Returns the fields of the form after the audio file. The prompt is not sent.
    fn transcription(&self, sample: &Sample) -> Payload {
        self.body_with_model(sample)
            .with("max_completion_tokens", sample.output_tokens)
            .with("stream", self.common.stream)
            .with("language", "en")
            .with("stream_include_usage", true)
            .with("stream_continuous_usage_stats", true)
    }

    /// Returns a body for the responses API. With `store`, a server that keeps answers would grow
    /// with each request.
    fn responses(&self, sample: &Sample) -> Result<Payload, RequestError> {
        Ok(self
            .body_with_model(sample)
            .with("input", prompt::inputs(sample, self.path())?)
            .with("max_output_tokens", sample.output_tokens)
            .with("stream", self.common.stream)
            .with("store", false))
    }

    /// Returns a body for Infinity. A picture is sent if there is no text or the text does not
    /// matter.
    fn infinity(&self, sample: &Sample) -> Result<Payload, RequestError> {
        let is_clip = self.dialect == VllmDialect::InfinityEmbeddingsClip;
        let has_text = sample.prompt.text().is_none_or(|text| !text.is_empty());
        let body = self.body_with_model(sample);
        match sample.media.first() {
            Some(picture) if is_clip || !has_text => {
                Ok(body.with("input", picture.uri()?).with("modality", picture.kind().as_str()))
            }
            _ => Ok(body.with("input", prompt::inputs(sample, self.path())?)),
        }
    }

    fn rerank(&self, sample: &Sample) -> Result<Payload, RequestError> {
        let Some((query, documents)) = prompt::ranking(&sample.prompt) else {
            return Err(cannot_say(&sample.prompt, self.path()));
        };
        let body =
            self.body_with_model(sample).with("query", query).with("documents", json!(documents));
        Ok(body.with(CUT, WHERE_IT_MUST))
    }

    /// Returns the stream options that request counts. Answers that are not streams have counts in
    /// any case, and servers refuse these options for them.
    fn usage_wanted(&self) -> Option<Value> {
        self.common.stream.then(|| json!({"include_usage": true}))
    }

    /// Returns a body with the model, or the adapter in its place.
    fn body_with_model(&self, sample: &Sample) -> Payload {
        let model = sample.adapter.as_deref().unwrap_or(&self.common.model);
        Payload::default().with("model", model)
    }

    /// Adds the run's additional keys; vLLM's client adds none to rankings.
    fn with_extra(&self, body: Payload, sample: &Sample) -> Payload {
        let common = &self.common;
        match self.dialect {
            VllmDialect::VllmRerank => body,
            _ if common.ignore_eos => {
                body.with("ignore_eos", true).with_all(common.extra_for(sample))
            }
            _ => body.with_all(common.extra_for(sample)),
        }
    }

    /// Returns the path, owned by the request.
    fn endpoint(&self) -> Cow<'static, str> {
        match &self.endpoint {
            Some(endpoint) => endpoint.clone().into(),
            None => self.dialect.path().into(),
        }
    }
}

impl Dialect for VllmSpec {
    /// Returns the dialect's usual route.
    fn route(&self) -> Route {
        self.dialect.route()
    }

    fn own_path(&self) -> Option<Cow<'_, str>> {
        Some(self.path().into())
    }

    fn own_name(&self) -> Option<&str> {
        Some(self.dialect.as_str())
    }
}

impl Backend for VllmSpec {
    type Decoder = Box<dyn Decoder>;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let body = self.with_extra(self.body(sample)?, sample).into_object();
        let request = match self.dialect {
            VllmDialect::OpenaiAudio => audio::form(self.endpoint(), &audio::file(sample)?, &body),
            _ => WireRequest::json(self.endpoint(), &body)?,
        };
        request.with_headers(&sample.headers)
    }

    fn decoder(&self, sample: &Sample) -> Box<dyn Decoder> {
        let items = match &sample.prompt {
            Prompt::Texts(texts) => texts.len(),
            Prompt::Ranking { documents, .. } => 1 + documents.len(),
            Prompt::Messages(messages) => prompt::passed(messages),
            _ => 1,
        };
        match self.dialect {
            VllmDialect::Openai | VllmDialect::OpenaiAudio | VllmDialect::OpenaiChat => {
                Box::new(OpenAiDecoder::of_vllm(sample))
            }
            VllmDialect::OpenaiResponses => Box::new(ResponsesDecoder::new(sample)),
            VllmDialect::OpenaiEmbeddingsChat
            | VllmDialect::OpenaiEmbeddingsClip
            | VllmDialect::OpenaiEmbeddingsVlm2vec => Box::new(EmbeddingsDecoder::expecting(1)),
            VllmDialect::VllmPooling => Box::new(PoolingDecoder::expecting(items)),
            VllmDialect::VllmRerank => Box::new(RerankDecoder::expecting(items - 1)),
            _ => Box::new(EmbeddingsDecoder::expecting(items)),
        }
    }
}

/// The key for the number of tokens to which a server truncates a text, and the value for the
/// model's own limit.
const CUT: &str = "truncate_prompt_tokens";
const WHERE_IT_MUST: i64 = -1;
