//! The names that `--backend` accepts, and their meanings.
//!
//! A name stands for a kind of server, a dialect and a default port. The table is that of SGLang
//! 0.5.23, including its surprises: it lists no chat backends among the ports, so they all have
//! SGLang's port.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{
    AnthropicSpec, BackendError, BackendSpec, ChatSpec, CommonSpec, CompletionsSpec,
    EmbeddingsSpec, GenerateSpec, OllamaApi, OllamaSpec, RerankSpec, Route, ServerKind, TrtSpec,
    TrussSpec,
};

/// Declares the names: each with its server, its default port and the constructor of its dialect.
macro_rules! names {
    ($($(#[$doc:meta])+ $variant:ident: $name:literal, $server:ident, $port:literal, $spec:expr;)+) => {
        /// A server and its route, as named by SGLang's `--backend`.
        ///
        /// ```
        /// use servemark_backends::{BackendName, Route, ServerKind};
        ///
        /// let name: BackendName = "vllm-chat".parse()?;
        /// assert_eq!((name.route(), name.server()), (Route::CHAT, ServerKind::Vllm));
        /// assert!("vllm-char".parse::<BackendName>().is_err());
        /// # Ok::<(), servemark_backends::BackendError>(())
        /// ```
        #[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
        #[non_exhaustive]
        pub enum BackendName {
            $($(#[$doc])+ #[serde(rename = $name)] $variant,)+
        }

        impl BackendName {
            /// All names in SGLang's order; additional names stand beside those of the same server.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Returns the name as given on the command line.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Returns the kind of server.
            pub const fn server(self) -> ServerKind {
                match self {
                    $(Self::$variant => ServerKind::$server,)+
                }
            }

            /// Returns the default port.
            pub const fn default_port(self) -> u16 {
                match self {
                    $(Self::$variant => $port,)+
                }
            }

            /// Returns the dialect, with its own options at their defaults.
            pub fn spec(self, common: CommonSpec) -> BackendSpec {
                match self {
                    $(Self::$variant => BackendSpec::from($spec(common)),)+
                }
            }
        }
    };
}

names! {
    /// SGLang's own route.
    Sglang: "sglang", Sglang, 30000, GenerateSpec::new;
    /// SGLang's own route, under another name.
    SglangNative: "sglang-native", Sglang, 30000, GenerateSpec::new;
    /// SGLang, text completions.
    SglangOai: "sglang-oai", Sglang, 30000, CompletionsSpec::new;
    /// SGLang, chat.
    SglangOaiChat: "sglang-oai-chat", Sglang, 30000, ChatSpec::new;
    /// SGLang, embeddings.
    SglangEmbedding: "sglang-embedding", Sglang, 30000, EmbeddingsSpec::new;
    /// SGLang, rankings. Servemark's addition to SGLang's names.
    SglangRerank: "sglang-rerank", Sglang, 30000, RerankSpec::new;
    /// vLLM, text completions.
    Vllm: "vllm", Vllm, 8000, CompletionsSpec::new;
    /// vLLM, chat.
    VllmChat: "vllm-chat", Vllm, 30000, ChatSpec::new;
    /// vLLM, embeddings.
    VllmEmbedding: "vllm-embedding", Vllm, 8000, EmbeddingsSpec::new;
    /// vLLM, rankings. The name is that of vLLM's own client, which asks the server to truncate
    /// texts that are too long.
    VllmRerank: "vllm-rerank", Vllm, 8000, RerankSpec::truncated;
    /// LMDeploy, text completions.
    Lmdeploy: "lmdeploy", Other, 23333, CompletionsSpec::new;
    /// LMDeploy, chat.
    LmdeployChat: "lmdeploy-chat", Other, 30000, ChatSpec::new;
    /// Ollama, texts. Servemark's addition to SGLang's names.
    Ollama: "ollama", Other, 11434, |common| OllamaSpec::new(OllamaApi::Generate, common);
    /// Ollama, chat. Servemark's addition to SGLang's names.
    OllamaChat: "ollama-chat", Other, 11434, |common| OllamaSpec::new(OllamaApi::Chat, common);
    /// Anthropic's messages, which SGLang and vLLM serve, too. Servemark's addition to SGLang's
    /// names.
    Anthropic: "anthropic", Other, 30000, AnthropicSpec::new;
    /// TensorRT-LLM behind Triton.
    Trt: "trt", Triton, 8000, TrtSpec::new;
    /// Baseten's Truss.
    Truss: "truss", Other, 8080, TrussSpec::new;
}

impl BackendName {
    /// Returns the route.
    pub fn route(self) -> Route {
        self.spec(CommonSpec::default()).route()
    }

    /// Returns the path of requests, relative to the target's base URL.
    pub fn path(self) -> &'static str {
        self.route().path()
    }

    /// Returns whether the server reports where cached prompt tokens were stored, which
    /// `--cache-report` shows.
    pub fn reports_cache(self) -> bool {
        self.server() == ServerKind::Sglang && self.route().generates()
    }
}

/// SGLang's own route.
impl Default for BackendName {
    fn default() -> Self {
        Self::Sglang
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
    use std::time::Duration;

    use super::*;

    #[track_caller]
    fn check(name: &str, path: &str, port: u16, flush: &str, has_info: bool) {
        let backend: BackendName = name.parse().unwrap();
        assert_eq!(backend.to_string(), name);
        assert_eq!(serde_json::to_string(&backend).unwrap(), format!("{name:?}"));
        assert_eq!((backend.path(), backend.default_port()), (path, port));
        assert_eq!(backend.server().flush_path(Duration::from_secs(60)), flush);
        assert_eq!(backend.server().has_info(), has_info);
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
    fn a_name_that_is_not_built_has_an_error_of_its_own() {
        let error = "gserver".parse::<BackendName>().unwrap_err();
        assert!(error.to_string().starts_with("the backend gserver is not implemented, "));
    }
}
