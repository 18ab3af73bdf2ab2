//! The routes, and the server's descriptions of itself.

use std::num::NonZeroUsize;

use serde_json::{Value, json};
use servemark_target::ImitatedEngine;

use super::state::ServerState;
use crate::answer::{AskFault, Dialect, OLLAMA_TIME};

use crate::imitated;

/// The handler of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Route {
    Answer(Dialect),
    ClearTruth,
    /// Flushes a cache, or starts or stops a profiler. The server has neither, but it records the
    /// call.
    Control,
    Health,
    Metrics,
    /// Describes the model that the path names.
    Model,
    LlamaProps,
    ModelInfo,
    Models,
    OllamaTags,
    ServerInfo,
    SimulatedTimes,
    TgiInfo,
    Unknown,
    Version,
}

impl Route {
    /// Returns the handler of a request to a server that imitates an engine, or else has the routes
    /// of all engines.
    pub(super) fn of(method: &str, path: &str, engine: Option<ImitatedEngine>) -> Self {
        match (method, path) {
            ("GET", path) if engine.is_some_and(|engine| !imitated::has(engine, path)) => {
                Self::Unknown
            }
            ("POST", "/generate") => Self::Answer(Dialect::Generate),
            ("POST", "/v1/chat/completions") => Self::Answer(Dialect::Chat),
            ("POST", "/v1/completions" | "/v1/models/model:predict") => {
                Self::Answer(Dialect::Completions)
            }
            ("POST", "/v1/embeddings" | "/embeddings") => Self::Answer(Dialect::Embeddings),
            ("POST", "/api/chat") => Self::Answer(Dialect::Ollama { as_messages: true }),
            ("POST", "/api/generate") => Self::Answer(Dialect::Ollama { as_messages: false }),
            ("POST", "/pooling") => Self::Answer(Dialect::Pooling),
            ("POST", "/v1/systemone") => Self::Answer(Dialect::Systemone),
            ("POST", "/v1/decide") => Self::Answer(Dialect::Autotrust),
            ("POST", "/v1/rerank" | "/v1/reranks" | "/rerank") => Self::Answer(Dialect::Rerank),
            ("POST", "/v1/audio/transcriptions" | "/v1/audio/translations") => {
                Self::Answer(Dialect::Transcription)
            }
            ("POST", "/v1/messages") => Self::Answer(Dialect::Anthropic),
            ("POST", "/v1/responses") => Self::Answer(Dialect::Responses),
            ("POST", "/generate_stream" | "/infer") => Self::Answer(Dialect::Tgi),
            ("POST", "/api/v1/services/aigc/text-generation/generation") => {
                Self::Answer(Dialect::Dashscope { as_messages: false, in_pieces: false })
            }
            ("POST", path) if is_triton(path) => {
                Self::Answer(Dialect::Triton { accumulates: false })
            }
            (
                "GET" | "POST",
                "/flush_cache"
                | "/hicache/storage-backend/clear"
                | "/reset_encoder_cache"
                | "/reset_mm_cache"
                | "/reset_prefix_cache"
                | "/start_profile"
                | "/stop_profile",
            ) => Self::Control,
            ("GET", "/" | "/health" | "/health_generate" | "/v2/health/ready") => Self::Health,
            ("GET", "/model_info" | "/get_model_info") => Self::ModelInfo,
            ("GET", "/metrics") => Self::Metrics,
            ("GET", "/v1/models") => Self::Models,
            ("GET", path) if path.starts_with(ONE_MODEL) => Self::Model,
            ("GET", "/server_info" | "/get_server_info") => Self::ServerInfo,
            ("GET", "/version") => Self::Version,
            ("GET", "/api/tags") if engine.is_some() => Self::OllamaTags,
            ("GET", "/api/version") if engine.is_some() => Self::Version,
            ("GET", "/info") if engine.is_some() => Self::TgiInfo,
            ("GET", "/props") if engine.is_some() => Self::LlamaProps,
            ("GET", "/__truth") => Self::SimulatedTimes,
            ("DELETE", "/__truth") => Self::ClearTruth,
            _ => Self::Unknown,
        }
    }
}

/// Whether the path is Triton's generate extension, for a model of any name.
fn is_triton(path: &str) -> bool {
    let model = path.strip_prefix("/v2/models/").and_then(|path| path.rsplit_once('/'));
    model.is_some_and(|(_, end)| ["generate", "generate_stream"].contains(&end))
}

impl ServerState {
    pub(super) fn model_info(&self) -> String {
        let model = &self.spec.model;
        json!({"model_path": model, "tokenizer_path": model, "is_generation": true}).to_string()
    }

    pub(super) fn models(&self) -> String {
        json!({"object": "list", "data": [self.model()]}).to_string()
    }

    /// Describes the model that a path names, if it is the served one.
    pub(super) fn model_of(&self, path: &str) -> Result<String, AskFault> {
        let name = decoded(path.strip_prefix(ONE_MODEL).unwrap_or_default());
        if name == self.spec.model {
            Ok(self.model().to_string())
        } else {
            Err(AskFault::UnknownModel(name))
        }
    }

    fn model(&self) -> Value {
        json!({
            "id": self.spec.model,
            "object": "model",
            "created": self.created,
            "owned_by": self.spec.engine.map_or("servemark", |engine| imitated::owner(engine, &self.spec.model)),
            "root": self.spec.model,
        })
    }

    /// Describes the server as text-generation-inference's `/info` does.
    pub(super) fn tgi_info(&self) -> String {
        let model = &self.spec.model;
        json!({"model_id": model, "router": "servemark-mock", "version": PROGRAM}).to_string()
    }

    /// Lists the model as Ollama's `/api/tags` does. No file holds it, so its size is 0.
    pub(super) fn ollama_tags(&self) -> String {
        let model = &self.spec.model;
        let entry = json!({
            "name": model,
            "model": model,
            "modified_at": OLLAMA_TIME,
            "size": 0,
            "digest": "",
            "details": {"format": "", "family": "", "families": [], "parameter_size": "", "quantization_level": ""},
        });
        json!({"models": [entry]}).to_string()
    }

    /// Describes the server as llama.cpp's `/props` does.
    pub(super) fn llama_props(&self) -> String {
        let slots = self.spec.places.map_or(MOST_RUNNING, NonZeroUsize::get);
        let model = &self.spec.model;
        json!({"model_path": model, "total_slots": slots, "build_info": PROGRAM}).to_string()
    }

    pub(super) fn server_info(&self) -> String {
        let places = self.spec.places.map_or(MOST_RUNNING, NonZeroUsize::get);
        let mut state = json!({
            "dp_size": 1,
            "effective_max_running_requests_per_dp": places,
            "memory_usage": {"token_capacity": TOKEN_CAPACITY},
        });
        if let Some(length) = self.spec.accept_length {
            state["avg_spec_accept_length"] = json!(length);
        }
        json!({
            "model_path": self.spec.model,
            "tokenizer_path": self.spec.model,
            "version": PROGRAM,
            "internal_states": [state],
        })
        .to_string()
    }
}

/// Decodes the percent-encoding in a part of a path. Invalid UTF-8 becomes replacement characters,
/// so the result names no model.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|hex| str::from_utf8(hex).ok());
        let byte = hex.filter(|_| *first == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

const ONE_MODEL: &str = "/v1/models/";

/// Name and version of this server, reported where an engine reports its own version.
const PROGRAM: &str = concat!("servemark-mock ", env!("CARGO_PKG_VERSION"));

/// The body of vLLM's `/version` and Ollama's `/api/version`, with the version of this server: it
/// imitates no particular release.
pub(super) const VERSION: &str = concat!(r#"{"version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

/// Maximum number of running requests and cache capacity in tokens that `/server_info` reports; the
/// simulator has no limit on requests and may have no cache.
const MOST_RUNNING: usize = 1 << 16;
const TOKEN_CAPACITY: u64 = 1 << 30;
