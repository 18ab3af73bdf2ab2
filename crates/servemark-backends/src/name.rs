//! The names that `--backend` accepts, and their meanings.
//!
//! A name stands for a server's conventions: its route, its default port, how its cache is flushed.
//! The dialect of the route is described by its spec. The table is that of SGLang 0.5.23, including
//! its surprises.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::BackendError;

/// A server and its route, as named by SGLang's `--backend`.
///
/// ```
/// use servemark_backends::{BackendName, Route};
///
/// let name: BackendName = "vllm-chat".parse()?;
/// assert_eq!(name.route(), Route::Chat);
/// assert!("vllm-char".parse::<BackendName>().is_err());
/// # Ok::<(), servemark_backends::BackendError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum BackendName {
    /// SGLang's own route.
    #[default]
    Sglang,
    /// SGLang's own route, under another name.
    SglangNative,
    /// SGLang, text completions.
    SglangOai,
    /// SGLang, chat.
    SglangOaiChat,
    /// SGLang, embeddings.
    SglangEmbedding,
    /// SGLang, rankings. Servemark's addition to SGLang's names.
    SglangRerank,
    /// vLLM, text completions.
    Vllm,
    /// vLLM, chat.
    VllmChat,
    /// vLLM, embeddings.
    VllmEmbedding,
    /// vLLM, rankings. The name is that of vLLM's own client.
    VllmRerank,
    /// LMDeploy, text completions.
    Lmdeploy,
    /// LMDeploy, chat.
    LmdeployChat,
    /// Ollama, texts. Servemark's addition to SGLang's names.
    Ollama,
    /// Ollama, chat. Servemark's addition to SGLang's names.
    OllamaChat,
    /// Anthropic's messages, which SGLang and vLLM serve, too. Servemark's addition to SGLang's names.
    Anthropic,
    /// TensorRT-LLM behind Triton.
    Trt,
    /// Baseten's Truss.
    Truss,
}

/// The API route of a backend.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Route {
    /// SGLang's `/generate`.
    Generate,
    /// OpenAI's `/v1/completions`.
    Completions,
    /// OpenAI's `/v1/chat/completions`.
    Chat,
    /// OpenAI's `/v1/embeddings`.
    Embeddings,
    /// The route `/v1/rerank`, which several servers have.
    Rerank,
    /// Anthropic's `/v1/messages`.
    Anthropic,
    /// Ollama's `/api/chat`.
    OllamaChat,
    /// Ollama's `/api/generate`.
    OllamaGenerate,
    /// Triton's `/v2/models/ensemble/generate_stream`.
    Trt,
    /// Truss's `/v1/models/model:predict`.
    Truss,
}

impl BackendName {
    /// All names in SGLang's order; additional names stand beside those of the same server.
    pub const ALL: [Self; 17] = [
        Self::Sglang,
        Self::SglangNative,
        Self::SglangOai,
        Self::SglangOaiChat,
        Self::SglangEmbedding,
        Self::SglangRerank,
        Self::Vllm,
        Self::VllmChat,
        Self::VllmEmbedding,
        Self::VllmRerank,
        Self::Lmdeploy,
        Self::LmdeployChat,
        Self::Ollama,
        Self::OllamaChat,
        Self::Anthropic,
        Self::Trt,
        Self::Truss,
    ];

    /// Returns the name as given on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sglang => "sglang",
            Self::SglangNative => "sglang-native",
            Self::SglangOai => "sglang-oai",
            Self::SglangOaiChat => "sglang-oai-chat",
            Self::SglangEmbedding => "sglang-embedding",
            Self::SglangRerank => "sglang-rerank",
            Self::Vllm => "vllm",
            Self::VllmChat => "vllm-chat",
            Self::VllmEmbedding => "vllm-embedding",
            Self::VllmRerank => "vllm-rerank",
            Self::Lmdeploy => "lmdeploy",
            Self::LmdeployChat => "lmdeploy-chat",
            Self::Ollama => "ollama",
            Self::OllamaChat => "ollama-chat",
            Self::Anthropic => "anthropic",
            Self::Trt => "trt",
            Self::Truss => "truss",
        }
    }

    /// Returns the route.
    pub const fn route(self) -> Route {
        match self {
            Self::Sglang | Self::SglangNative => Route::Generate,
            Self::SglangOai | Self::Vllm | Self::Lmdeploy => Route::Completions,
            Self::SglangOaiChat | Self::VllmChat | Self::LmdeployChat => Route::Chat,
            Self::SglangEmbedding | Self::VllmEmbedding => Route::Embeddings,
            Self::SglangRerank | Self::VllmRerank => Route::Rerank,
            Self::Ollama => Route::OllamaGenerate,
            Self::OllamaChat => Route::OllamaChat,
            Self::Anthropic => Route::Anthropic,
            Self::Trt => Route::Trt,
            Self::Truss => Route::Truss,
        }
    }

    /// Returns the path of requests, relative to the target's base URL.
    pub const fn path(self) -> &'static str {
        self.route().path()
    }

    /// Returns the default port. SGLang's table lists no chat backends, so they all have SGLang's
    /// port.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Vllm | Self::VllmEmbedding | Self::VllmRerank | Self::Trt => 8000,
            Self::Truss => 8080,
            Self::Lmdeploy => 23333,
            Self::Ollama | Self::OllamaChat => 11434,
            _ => 30000,
        }
    }

    /// Returns the path and query of the POST that flushes the prefix cache. Only SGLang accepts a
    /// limit on the wait for running requests.
    pub fn flush_path(self, timeout: Duration) -> String {
        match self {
            Self::Vllm | Self::VllmChat | Self::VllmEmbedding | Self::VllmRerank => {
                "/reset_prefix_cache".to_owned()
            }
            // Python writes a whole number of seconds as `60.0`; so does `{:?}`.
            _ if self.is_sglang() => format!("/flush_cache?timeout={:?}", timeout.as_secs_f64()),
            _ => "/flush_cache".to_owned(),
        }
    }

    /// Returns the path of a GET that succeeds once the server is ready. SGLang's client requests `/`
    /// of Triton, which does not exist there: it answers 404 as soon as it takes requests.
    pub const fn ready_path(self) -> &'static str {
        match self {
            Self::Trt => "/",
            _ => "/v1/models",
        }
    }

    /// Whether the server reports where cached prompt tokens were stored, which `--cache-report`
    /// shows.
    pub const fn reports_cache(self) -> bool {
        matches!(self, Self::Sglang | Self::SglangNative | Self::SglangOai | Self::SglangOaiChat)
    }

    /// Whether the server is SGLang, whose `/server_info` reports the accepted length.
    pub fn is_sglang(self) -> bool {
        self.as_str().contains("sglang")
    }
}

impl Route {
    /// Returns the path of requests, relative to the target's base URL.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Generate => "/generate",
            Self::Completions => "/v1/completions",
            Self::Chat => "/v1/chat/completions",
            Self::Embeddings => "/v1/embeddings",
            Self::Rerank => "/v1/rerank",
            Self::Anthropic => "/v1/messages",
            Self::OllamaChat => "/api/chat",
            Self::OllamaGenerate => "/api/generate",
            Self::Trt => "/v2/models/ensemble/generate_stream",
            Self::Truss => "/v1/models/model:predict",
        }
    }

    /// Whether the route accepts messages, and thus conversations of several turns.
    pub const fn takes_messages(self) -> bool {
        matches!(self, Self::Anthropic | Self::Chat | Self::OllamaChat)
    }

    /// Returns whether messages are sent as they stand, as SGLang's client does, although the server
    /// takes texts.
    pub const fn passes_messages(self) -> bool {
        matches!(
            self,
            Self::Completions | Self::Embeddings | Self::Generate | Self::Trt | Self::Truss
        )
    }

    /// Returns whether an answer consists of tokens, unlike embeddings and rankings.
    pub const fn generates(self) -> bool {
        !matches!(self, Self::Embeddings | Self::Rerank)
    }

    /// Whether the route accepts token ids in place of text.
    pub const fn takes_ids(self) -> bool {
        matches!(self, Self::Generate | Self::Completions | Self::Embeddings)
    }
}

impl fmt::Display for BackendName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for BackendName {
    type Err = BackendError;

    fn from_str(name: &str) -> Result<Self, BackendError> {
        if let Some(known) = Self::ALL.into_iter().find(|known| known.as_str() == name) {
            return Ok(known);
        }
        let (name, known) = (name.to_owned(), Self::ALL.map(Self::as_str).join(", "));
        Err(if name == GSERVER {
            BackendError::NotImplemented { name, known }
        } else {
            BackendError::Unknown { name, known }
        })
    }
}

/// A name that SGLang 0.5.23 lists, but for which it raises `NotImplementedError`.
const GSERVER: &str = "gserver";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, path: &str, port: u16, flush: &str, is_sglang: bool) {
        let backend: BackendName = name.parse().unwrap();
        assert_eq!(backend.to_string(), name);
        assert_eq!(serde_json::to_string(&backend).unwrap(), format!("{name:?}"));
        assert_eq!((backend.path(), backend.default_port()), (path, port));
        assert_eq!(backend.flush_path(Duration::from_secs(60)), flush);
        assert_eq!(backend.is_sglang(), is_sglang);
    }

    #[test]
    fn the_table_is_the_peers() {
        check("sglang", "/generate", 30000, "/flush_cache?timeout=60.0", true);
        check("sglang-native", "/generate", 30000, "/flush_cache?timeout=60.0", true);
        check("sglang-oai", "/v1/completions", 30000, "/flush_cache?timeout=60.0", true);
        check("sglang-oai-chat", "/v1/chat/completions", 30000, "/flush_cache?timeout=60.0", true);
        check("sglang-embedding", "/v1/embeddings", 30000, "/flush_cache?timeout=60.0", true);
        check("sglang-rerank", "/v1/rerank", 30000, "/flush_cache?timeout=60.0", true);
        check("vllm", "/v1/completions", 8000, "/reset_prefix_cache", false);
        check("vllm-chat", "/v1/chat/completions", 30000, "/reset_prefix_cache", false);
        check("vllm-embedding", "/v1/embeddings", 8000, "/reset_prefix_cache", false);
        check("vllm-rerank", "/v1/rerank", 8000, "/reset_prefix_cache", false);
        check("trt", "/v2/models/ensemble/generate_stream", 8000, "/flush_cache", false);
        check("truss", "/v1/models/model:predict", 8080, "/flush_cache", false);
        check("ollama", "/api/generate", 11434, "/flush_cache", false);
        check("ollama-chat", "/api/chat", 11434, "/flush_cache", false);
        check("anthropic", "/v1/messages", 30000, "/flush_cache", false);
        check("lmdeploy", "/v1/completions", 23333, "/flush_cache", false);
        check("lmdeploy-chat", "/v1/chat/completions", 30000, "/flush_cache", false);
    }

    #[test]
    fn a_name_that_is_none_is_told_what_would_do() {
        let error = "vlm".parse::<BackendName>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no backend \"vlm\"; use one of sglang, sglang-native, sglang-oai, \
             sglang-oai-chat, sglang-embedding, sglang-rerank, vllm, vllm-chat, vllm-embedding, \
             vllm-rerank, lmdeploy, lmdeploy-chat, ollama, ollama-chat, anthropic, trt, truss"
        );
    }

    #[test]
    fn a_name_that_nobody_has_built_is_told_apart() {
        let error = "gserver".parse::<BackendName>().unwrap_err();
        assert!(error.to_string().starts_with("the backend gserver is not implemented, "));
    }

    #[test]
    fn the_flush_time_out_is_written_as_python_writes_it() {
        let path = BackendName::SglangOai.flush_path(Duration::from_millis(7250));
        assert_eq!(path, "/flush_cache?timeout=7.25");
    }
}
