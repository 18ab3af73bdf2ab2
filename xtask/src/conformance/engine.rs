//! Descriptions of the engines: packages, servers, promises and refusals.
//!
//! This module runs nothing; other modules install, start and drive the engines.

mod infinity;
mod mlx;
mod sglang;
mod vllm;

use super::parts::TimeHistogram;

/// An engine that runs on a CPU.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) name: &'static str,
    /// Display name of the engine.
    pub(super) title: &'static str,
    /// Required packages. The first is the engine; the report shows the versions of pinned ones.
    pub(super) packages: &'static [&'static str],
    /// Additional arguments of `uv pip install`.
    pub(super) install_flags: &'static [&'static str],
    /// Requirements that replace those of the packages.
    pub(super) overrides: &'static [&'static str],
    /// Python package whose libraries need a GPU driver's library, which a stub replaces.
    pub(super) wants_driver: Option<&'static str>,
    pub(super) environment: &'static [(&'static str, &'static str)],
    /// Arguments of the engine, with or without a server.
    pub(super) arguments: &'static [&'static str],
    /// Servers that are started, one after the other.
    pub(super) servers: &'static [Serving],
    /// Description of the engine without a server, if it is examined.
    pub(super) offline: Option<Offline>,
}

/// An engine without a server, in a worker process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offline {
    /// Beginning of the title of the process that computes.
    pub(super) core: &'static str,
    /// Python arguments of the engine's own benchmarks, if our program accepts their command
    /// lines.
    pub(super) bench: Option<&'static [&'static str]>,
    /// Whether the engine has a class that starts a server and sends requests to it.
    pub(super) has_runtime: bool,
}

/// A server of an engine, with its model.
#[derive(Debug)]
pub(super) struct Serving {
    /// Python arguments; the flag for the model's folder is the last.
    pub(super) launch: &'static [&'static str],
    /// Path that answers with status 200 when the server is ready.
    pub(super) ready_path: &'static str,
    /// Name of the model in requests.
    pub(super) model: &'static str,
    pub(super) weights: Weights,
    /// Kind of output requested from the server.
    pub(super) task: Task,
    /// Names of SGLang's backends that work with the server.
    pub(super) backends: &'static [&'static str],
    pub(super) honours_ignore_eos: bool,
    /// Whether the server accepts log-probabilities as a number of most likely tokens.
    pub(super) takes_logprobs: bool,
    pub(super) refusals: &'static [Refusal],
    /// Names of SGLang's backends whose answers have the server's own times if they are asked for.
    pub(super) tells_times: &'static [&'static str],
    /// Histograms of the server's page of metrics that count times of requests.
    pub(super) histograms: &'static [TimeHistogram],
    /// Python arguments of the engine's own client, if its environment has one.
    pub(super) peer: Option<&'static [&'static str]>,
}

/// A model that is created locally.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    /// Script that writes the model.
    pub(super) script: &'static str,
    /// Folder that is passed to the script.
    pub(super) folder: &'static str,
    /// Folder of the model: the folder passed to the script, or a folder in it.
    pub(super) model: &'static str,
}

/// Kind of output that a server generates.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Task {
    /// Generated text.
    Generate,
    /// Embedding vectors.
    Embed,
    /// Rerank scores.
    Rank,
    /// Vectors and scores.
    Items,
}

impl Task {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Generate => "generate",
            Self::Embed => "embed",
            Self::Rank => "rank",
            Self::Items => "items",
        }
    }
}

/// A request that the engine refuses, and the expected error.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) name: &'static str,
    pub(super) backend: &'static str,
    pub(super) flags: &'static [&'static str],
    pub(super) status: u16,
    /// Kind of failure expected in the log.
    pub(super) kind: &'static str,
    /// Part of the server's message.
    pub(super) excerpt: &'static str,
}

/// All engines, the fastest first.
pub(super) const ALL: [&Engine; 4] = [&mlx::MLX, &sglang::SGLANG, &vllm::VLLM, &infinity::INFINITY];

/// A small Llama with random weights.
pub(super) const TINY_LLAMA: Weights =
    Weights { script: "tiny_model.py", folder: "model", model: "model" };
/// An adapter with random weights for `TINY_LLAMA`.
pub(super) const TINY_ADAPTER: Weights =
    Weights { script: "tiny_adapter.py", folder: "adapter", model: "adapter" };
/// An embedding model; a rerank model with random weights is in the same folder.
const EMBEDDER: Weights = Weights { script: "minilm.py", folder: "encoders", model: "encoders" };
const RANKER: Weights = Weights { model: "encoders/reranker", ..EMBEDDER };
