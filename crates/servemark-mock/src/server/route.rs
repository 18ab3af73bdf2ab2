//! The routes, and what the server says of itself.

use std::num::NonZeroUsize;

use serde_json::json;

use super::site::Site;
use crate::answer::Dialect;

/// Where a request goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Route {
    Answer(Dialect),
    ClearTruth,
    /// Flushes a cache, or starts or stops a profiler; there is none, but the call is remembered.
    Control,
    Health,
    ModelInfo,
    Models,
    ServerInfo,
    Truth,
    Unknown,
}

impl Route {
    pub(super) fn of(method: &str, path: &str) -> Self {
        match (method, path) {
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
            ("GET", "/health" | "/health_generate" | "/v2/health/ready") => Self::Health,
            ("GET", "/model_info" | "/get_model_info") => Self::ModelInfo,
            ("GET", "/v1/models") => Self::Models,
            ("GET", "/server_info" | "/get_server_info") => Self::ServerInfo,
            ("GET", "/__truth") => Self::Truth,
            ("DELETE", "/__truth") => Self::ClearTruth,
            _ => Self::Unknown,
        }
    }
}

/// Whether it is Triton's generate extension for a model of whatever name.
fn is_triton(path: &str) -> bool {
    let model = path.strip_prefix("/v2/models/").and_then(|path| path.rsplit_once('/'));
    model.is_some_and(|(_, end)| ["generate", "generate_stream"].contains(&end))
}

impl Site {
    pub(super) fn model_info(&self) -> String {
        let model = &self.spec.model;
        json!({"model_path": model, "tokenizer_path": model, "is_generation": true}).to_string()
    }

    pub(super) fn models(&self) -> String {
        let model = json!({
            "id": self.spec.model,
            "object": "model",
            "created": self.created,
            "owned_by": "servemark",
            "root": self.spec.model,
        });
        json!({"object": "list", "data": [model]}).to_string()
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
            "version": concat!("servemark-mock ", env!("CARGO_PKG_VERSION")),
            "internal_states": [state],
        })
        .to_string()
    }
}

/// What is said of a server without places, and of its cache, of which it has none.
const MOST_RUNNING: usize = 1 << 16;
const TOKEN_CAPACITY: u64 = 1 << 30;
