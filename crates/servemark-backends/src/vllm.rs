//! What vLLM's own client asks for, route by route.
//!
//! The order and the presence of the keys are those of vLLM 0.33.0's `bench serve`. Where OpenAI's
//! routes answer as they always do, the readers are those of the other dialects.

mod audio;
mod counters;
mod pooling;
mod prompt;
mod responses;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_core::{Prompt, RequestError, Sample};

pub use self::counters::vllm_counters;
pub use self::pooling::PoolingDecoder;
pub use self::responses::ResponsesDecoder;
use crate::payload::{Payload, cannot_say};
use crate::{
    Backend, CommonSpec, EmbeddingsDecoder, OpenAiDecoder, RerankDecoder, WireDecoder, WireRequest,
};

/// A dialect of vLLM's client with its knobs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VllmSpec {
    /// Which dialect.
    pub dialect: VllmDialect,
    /// What every dialect is told.
    #[serde(flatten)]
    pub common: CommonSpec,
    /// For how many of the likeliest tokens log-probabilities are asked for; completions alone ask.
    #[serde(default)]
    pub logprobs: Option<u32>,
    /// Where requests go, from the target's base; where the dialect's servers usually have it,
    /// without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
}

impl VllmSpec {
    /// A dialect without log-probabilities.
    pub fn new(dialect: VllmDialect, common: CommonSpec) -> Self {
        Self { dialect, common, logprobs: None, endpoint: None }
    }

    /// Where requests go, from the target's base.
    pub fn path(&self) -> &str {
        self.endpoint.as_deref().unwrap_or(self.dialect.path())
    }
}

/// What is spoken, as vLLM's `--backend` tells it apart. `vllm` is another name of `openai`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum VllmDialect {
    /// Text completions.
    Openai,
    /// Transcriptions.
    OpenaiAudio,
    /// Chat.
    OpenaiChat,
    /// Embeddings of texts.
    OpenaiEmbeddings,
    /// Embeddings of what a user says.
    OpenaiEmbeddingsChat,
    /// The same; of a picture, without its text.
    OpenaiEmbeddingsClip,
    /// The same; of a picture with every other request's text.
    OpenaiEmbeddingsVlm2vec,
    /// Answers of the responses API.
    OpenaiResponses,
    /// Infinity's embeddings.
    InfinityEmbeddings,
    /// The same; of a picture, without its text.
    InfinityEmbeddingsClip,
    /// vLLM's pooling.
    VllmPooling,
    /// Rankings.
    VllmRerank,
}

impl VllmDialect {
    /// All of them, in vLLM's order.
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

    /// The name as it is written.
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

    /// The dialect of a name that vLLM's `--backend` takes, if it is built.
    pub fn of(name: &str) -> Option<Self> {
        let name = if name == "vllm" { "openai" } else { name };
        Self::ALL.into_iter().find(|dialect| dialect.as_str() == name)
    }

    /// Where its servers have it, from the target's base.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Openai => "/v1/completions",
            Self::OpenaiAudio => "/v1/audio/transcriptions",
            Self::OpenaiChat => "/v1/chat/completions",
            Self::OpenaiEmbeddings
            | Self::OpenaiEmbeddingsChat
            | Self::OpenaiEmbeddingsClip
            | Self::OpenaiEmbeddingsVlm2vec => "/v1/embeddings",
            Self::OpenaiResponses => "/v1/responses",
            Self::InfinityEmbeddings | Self::InfinityEmbeddingsClip => "/embeddings",
            Self::VllmPooling => "/pooling",
            Self::VllmRerank => "/v1/rerank",
        }
    }

    /// With which of these the URL of its requests must end.
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

    /// What vLLM's messages call its route.
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

    /// Whether an answer is made of tokens.
    pub const fn generates(self) -> bool {
        matches!(self, Self::Openai | Self::OpenaiAudio | Self::OpenaiChat | Self::OpenaiResponses)
    }
}

impl fmt::Display for VllmDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The codec of a dialect of vLLM's client.
#[derive(Clone, Debug, PartialEq)]
pub struct VllmBackend {
    spec: VllmSpec,
}

impl VllmBackend {
    /// A codec with these knobs.
    pub fn new(spec: VllmSpec) -> Self {
        Self { spec }
    }

    fn body(&self, sample: &Sample) -> Result<Payload, RequestError> {
        match self.spec.dialect {
            VllmDialect::Openai => self.completions(sample),
            VllmDialect::OpenaiAudio => Ok(self.transcription(sample)),
            VllmDialect::OpenaiChat => self.chat(sample),
            VllmDialect::OpenaiResponses => self.responses(sample),
            VllmDialect::OpenaiEmbeddings => {
                let input = prompt::inputs(&sample.prompt, self.path())?;
                Ok(self.named(sample).with("input", input).with(CUT, WHERE_IT_MUST))
            }
            VllmDialect::OpenaiEmbeddingsChat
            | VllmDialect::OpenaiEmbeddingsClip
            | VllmDialect::OpenaiEmbeddingsVlm2vec => {
                let messages = prompt::to_embed(self.spec.dialect, sample)?;
                Ok(self.named(sample).with("messages", messages).with(CUT, WHERE_IT_MUST))
            }
            VllmDialect::InfinityEmbeddings | VllmDialect::InfinityEmbeddingsClip => {
                self.infinity(sample)
            }
            VllmDialect::VllmPooling => {
                let input = prompt::inputs(&sample.prompt, self.path())?;
                Ok(self.named(sample).with(CUT, WHERE_IT_MUST).with("input", input))
            }
            VllmDialect::VllmRerank => self.rerank(sample),
        }
    }

    fn completions(&self, sample: &Sample) -> Result<Payload, RequestError> {
        Ok(self
            .named(sample)
            .with("prompt", prompt::inputs(&sample.prompt, self.path())?)
            .with("repetition_penalty", 1.0)
            .with("max_tokens", sample.output_tokens)
            .with("logprobs", json!(self.spec.logprobs))
            .with("stream", self.spec.common.stream)
            .with_some("stream_options", self.usage_wanted()))
    }

    fn chat(&self, sample: &Sample) -> Result<Payload, RequestError> {
        Ok(self
            .named(sample)
            .with("messages", prompt::messages(sample, self.path())?)
            .with("max_completion_tokens", sample.output_tokens)
            .with("stream", self.spec.common.stream)
            .with_some("stream_options", self.usage_wanted()))
    }

    /// What stands in the form behind the recording. The prompt is not sent.
    fn transcription(&self, sample: &Sample) -> Payload {
        self.named(sample)
            .with("max_completion_tokens", sample.output_tokens)
            .with("stream", self.spec.common.stream)
            .with("language", "en")
            .with("stream_include_usage", true)
            .with("stream_continuous_usage_stats", true)
    }

    /// vLLM is told to forget the answer: a server that stores them would grow with each.
    fn responses(&self, sample: &Sample) -> Result<Payload, RequestError> {
        Ok(self
            .named(sample)
            .with("input", prompt::inputs(&sample.prompt, self.path())?)
            .with("max_output_tokens", sample.output_tokens)
            .with("stream", self.spec.common.stream)
            .with("store", false))
    }

    /// A picture is asked for where there is no text, or none that counts.
    fn infinity(&self, sample: &Sample) -> Result<Payload, RequestError> {
        let is_clip = self.spec.dialect == VllmDialect::InfinityEmbeddingsClip;
        let has_text = sample.prompt.text().is_none_or(|text| !text.is_empty());
        let body = self.named(sample);
        match sample.media.first() {
            Some(picture) if is_clip || !has_text => {
                Ok(body.with("input", picture.uri()?).with("modality", picture.kind().as_str()))
            }
            _ => Ok(body.with("input", prompt::inputs(&sample.prompt, self.path())?)),
        }
    }

    fn rerank(&self, sample: &Sample) -> Result<Payload, RequestError> {
        let Some((query, documents)) = prompt::ranking(&sample.prompt) else {
            return Err(cannot_say(&sample.prompt, self.path()));
        };
        let body = self.named(sample).with("query", query).with("documents", json!(documents));
        Ok(body.with(CUT, WHERE_IT_MUST))
    }

    /// An answer that is no stream has its counts anyhow, and servers refuse options for it.
    fn usage_wanted(&self) -> Option<Value> {
        self.spec.common.stream.then(|| json!({"include_usage": true}))
    }

    /// The model, or the adapter that stands for it.
    fn named(&self, sample: &Sample) -> Payload {
        let model = sample.adapter.as_deref().unwrap_or(&self.spec.common.model);
        Payload::default().with("model", model)
    }

    /// What the run adds; vLLM adds nothing to rankings.
    fn with_extra(&self, body: Payload, sample: &Sample) -> Payload {
        let common = &self.spec.common;
        match self.spec.dialect {
            VllmDialect::VllmRerank => body,
            _ if common.ignore_eos => {
                body.with("ignore_eos", true).with_all(common.extra_for(sample))
            }
            _ => body.with_all(common.extra_for(sample)),
        }
    }

    fn path(&self) -> &str {
        self.spec.path()
    }

    /// The same for a request to keep.
    fn endpoint(&self) -> Cow<'static, str> {
        match &self.spec.endpoint {
            Some(endpoint) => endpoint.clone().into(),
            None => self.spec.dialect.path().into(),
        }
    }
}

impl Backend for VllmBackend {
    type Decoder = WireDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let body = self.with_extra(self.body(sample)?, sample).into_object();
        let request = match self.spec.dialect {
            VllmDialect::OpenaiAudio => audio::form(self.endpoint(), &audio::file(sample)?, &body),
            _ => WireRequest::json(self.endpoint(), &body)?,
        };
        request.with_headers(&sample.headers)
    }

    fn decoder(&self, sample: &Sample) -> WireDecoder {
        let items = match &sample.prompt {
            Prompt::Texts(texts) => texts.len(),
            Prompt::Ranking { documents, .. } => 1 + documents.len(),
            _ => 1,
        };
        match self.spec.dialect {
            VllmDialect::Openai | VllmDialect::OpenaiAudio | VllmDialect::OpenaiChat => {
                WireDecoder::OpenAi(OpenAiDecoder::new(sample))
            }
            VllmDialect::OpenaiResponses => WireDecoder::Responses(ResponsesDecoder::new(sample)),
            VllmDialect::VllmPooling => WireDecoder::Pooling(PoolingDecoder::expecting(items)),
            VllmDialect::VllmRerank => WireDecoder::Rerank(RerankDecoder::expecting(items - 1)),
            _ => WireDecoder::Embeddings(EmbeddingsDecoder::expecting(items)),
        }
    }
}

/// After how many tokens a server cuts a text, and the word for the model's own limit.
const CUT: &str = "truncate_prompt_tokens";
const WHERE_IT_MUST: i64 = -1;
