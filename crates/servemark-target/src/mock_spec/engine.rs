//! The engine whose descriptions and metrics the server imitates.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The engine whose descriptions and metrics the server imitates: the owner of the models that it
/// lists, and the routes that describe the server. A route of another engine does not exist then.
/// Versions are those of this server, because it imitates no particular release.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ImitatedEngine {
    /// llama.cpp's server: `/props`.
    #[serde(rename = "llama.cpp")]
    LlamaCpp,
    /// LMDeploy's server, which has no route with a version.
    Lmdeploy,
    /// Ollama: `/api/version` and `/api/tags`, and no metrics.
    Ollama,
    /// SGLang's server: `/server_info` and `/model_info`, also by their older names.
    Sglang,
    /// TensorRT-LLM's server: `/version`, and no Prometheus metrics under `/metrics`.
    TensorrtLlm,
    /// Text Generation Inference: `/info`. It names each model's owner after the model.
    Tgi,
    /// vLLM's server: `/version`.
    Vllm,
}

impl ImitatedEngine {
    /// All engines, in the order of their names.
    pub const ALL: [Self; 7] = [
        Self::LlamaCpp,
        Self::Lmdeploy,
        Self::Ollama,
        Self::Sglang,
        Self::TensorrtLlm,
        Self::Tgi,
        Self::Vllm,
    ];

    /// Returns the name on a command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LlamaCpp => "llama.cpp",
            Self::Lmdeploy => "lmdeploy",
            Self::Ollama => "ollama",
            Self::Sglang => "sglang",
            Self::TensorrtLlm => "tensorrt-llm",
            Self::Tgi => "tgi",
            Self::Vllm => "vllm",
        }
    }
}

impl fmt::Display for ImitatedEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ImitatedEngine {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|engine| engine.name() == name);
        named.ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|engine| engine.name()).collect();
            format!("expected one of {}, got {name:?}", names.join(", "))
        })
    }
}
