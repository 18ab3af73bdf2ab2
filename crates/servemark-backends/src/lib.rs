//! Wire dialects as pure codecs: from a [`Sample`] to a [`WireRequest`], and from the events of an
//! answer to deltas.
//!
//! A dialect uses no socket, no clock and no runtime, so tests need only byte strings. To add one,
//! implement [`Backend`] and [`Decoder`] in a module of its own and add it to [`BackendSpec`].
//!
//! [`Sample`]: servemark_core::Sample

mod aisbench;
mod answer;
mod anthropic;
mod backend;
mod batch;
mod chat;
mod completions;
mod count;
mod embeddings;
mod error;
mod error_message;
mod evalscope;
mod generate;
mod items;
mod name;
mod ollama;
mod openai;
mod payload;
mod places;
mod prometheus;
mod provided;
#[cfg(test)]
mod recording_sink;
mod rerank;
mod running_text;
mod scan;
mod server_times;
mod sglang_counters;
mod spec;
mod trt;
mod truss;
mod vllm;
mod wire;
mod wire_backend;

pub use aisbench::{AisbenchBackend, AisbenchClass, AisbenchSpec, GeneratedDecoder, TritonDecoder};
pub use anthropic::{AnthropicBackend, AnthropicDecoder, AnthropicSpec};
pub use backend::{Backend, Decoder, Flow, Framing, WireRequest};
pub use batch::{BatchBackend, BatchDecoder, BatchServer, BatchSpec};
pub use chat::{ChatBackend, ChatSpec};
pub use completions::{CompletionsBackend, CompletionsSpec};
pub use embeddings::{EmbeddingsBackend, EmbeddingsDecoder, EmbeddingsSpec, EncodingFormat};
pub use error::BackendError;
pub use error_message::error_message;
pub use evalscope::{
    DashscopeDecoder, DecisionDecoder, EvalscopeApi, EvalscopeBackend, EvalscopeSampling,
    EvalscopeSpec,
};
pub use generate::{GenerateBackend, GenerateDecoder, GenerateSpec};
pub use name::{BackendName, Route};
pub use ollama::{OllamaApi, OllamaBackend, OllamaDecoder, OllamaSpec};
pub use openai::OpenAiDecoder;
pub use prometheus::{PrometheusSample, prometheus_samples};
pub use provided::{ProvidedBackend, ProvidedSpec};
pub use rerank::{RerankBackend, RerankDecoder, RerankSpec};
pub use sglang_counters::sglang_counters;
pub use spec::{BackendSpec, CommonSpec};
pub use trt::{TrtBackend, TrtDecoder, TrtSpec};
pub use truss::{TrussBackend, TrussSpec};
pub use vllm::{
    PoolingDecoder, ResponsesDecoder, VllmBackend, VllmDialect, VllmSpec, vllm_counters,
};
pub use wire_backend::{WireBackend, WireDecoder};
