//! Wire dialects as pure codecs: from a [`Sample`] to a [`WireRequest`], and from the events of an
//! answer to deltas.
//!
//! A dialect uses no socket, no clock and no runtime, so tests need only byte strings. To add one,
//! implement [`Backend`] and [`Decoder`] in a module of its own, and add a row to [`BackendSpec`]
//! and one to [`BackendName`].
//!
//! [`Sample`]: servemark_core::Sample

#![cfg_attr(
    not(feature = "peers"),
    allow(dead_code, unused_imports, reason = "only the dialects of the peers use some parts")
)]

#[cfg(not(feature = "peers"))]
mod absent;
#[cfg(feature = "peers")]
mod aisbench;
mod answer;
mod anthropic;
mod backend;
mod batch;
mod chat;
mod completions;
mod count;
mod deferred;
mod embeddings;
mod error;
mod error_message;
#[cfg(feature = "peers")]
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
mod route;
mod running_text;
mod scan;
mod server_kind;
mod server_times;
mod sglang_counters;
mod spec;
mod trt;
mod truss;
#[cfg(feature = "peers")]
mod vllm;
mod vllm_counters;
mod wire;
mod wire_backend;

#[cfg(not(feature = "peers"))]
pub use absent::{AisbenchSpec, EvalscopeSpec, VllmSpec};
#[cfg(feature = "peers")]
pub use aisbench::{AisbenchClass, AisbenchSpec, GeneratedDecoder, TritonDecoder};
pub use anthropic::{AnthropicDecoder, AnthropicSpec};
pub use backend::{Backend, Decoder, Flow, Framing, WireRequest};
pub use batch::{BatchDecoder, BatchServer, BatchSpec};
pub use chat::ChatSpec;
pub use completions::CompletionsSpec;
pub use deferred::{
    DeferredBackend, DeferredCodec, RawAnswer, RawFrame, RawFrameDecoder, decode_raw,
};
pub use embeddings::{EmbeddingsDecoder, EmbeddingsSpec, EncodingFormat};
pub use error::BackendError;
pub use error_message::{error_message, is_web_page};
#[cfg(feature = "peers")]
pub use evalscope::{
    DashscopeDecoder, DecisionDecoder, EvalscopeApi, EvalscopeSampling, EvalscopeSpec,
};
pub use generate::{GenerateDecoder, GenerateSpec};
pub use name::BackendName;
pub use ollama::{OllamaApi, OllamaDecoder, OllamaSpec};
pub use openai::OpenAiDecoder;
pub use prometheus::{PrometheusSample, prometheus_samples};
pub use provided::ProvidedSpec;
pub use rerank::{RerankDecoder, RerankSpec};
pub use route::Route;
pub use server_kind::ServerKind;
pub use sglang_counters::sglang_counters;
pub use spec::{BackendSpec, CommonSpec};
pub use trt::{TrtDecoder, TrtSpec};
pub use truss::TrussSpec;
#[cfg(feature = "peers")]
pub use vllm::{PoolingDecoder, ResponsesDecoder, VllmDialect, VllmSpec};
pub use vllm_counters::vllm_counters;
pub use wire_backend::WireBackend;

/// The crates whose types a [`WireRequest`] has.
pub use {bytes, http};
