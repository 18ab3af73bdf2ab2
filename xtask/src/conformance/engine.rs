//! The engines as values: what to install, which servers to start, what they promise, how they
//! refuse.
//!
//! Nothing here is run; installing, starting and driving are other modules' business.

mod infinity;
mod mlx;
mod sglang;
mod vllm;

/// An engine that runs on a CPU.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) name: &'static str,
    /// How people call it.
    pub(super) title: &'static str,
    /// What is installed. The first is the engine; the report names their versions.
    pub(super) packages: &'static [&'static str],
    /// Further words for `uv pip install`.
    pub(super) install_flags: &'static [&'static str],
    /// Requirements that replace those of the packages.
    pub(super) overrides: &'static [&'static str],
    /// The Python package whose libraries want a GPU driver's library, which a stub stands in for.
    pub(super) wants_driver: Option<&'static str>,
    pub(super) environment: &'static [(&'static str, &'static str)],
    /// Its own arguments, with or without a server.
    pub(super) arguments: &'static [&'static str],
    /// What is started of it, one after the other.
    pub(super) servers: &'static [Serving],
    /// What is done with it without a server.
    pub(super) offline: Option<Offline>,
}

/// An engine without a server, in a worker process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offline {
    /// With what the title of its process begins that computes.
    pub(super) core: &'static str,
    /// Its own benchmarks, whose words ours take too: what Python is told to run.
    pub(super) bench: Option<&'static [&'static str]>,
    /// Whether it has a class that starts a server and asks it.
    pub(super) has_runtime: bool,
}

/// A server of an engine, with a model of its own.
#[derive(Debug)]
pub(super) struct Serving {
    /// What Python is told to run; the flag that takes the model's folder comes last.
    pub(super) launch: &'static [&'static str],
    /// The path that answers 200 once requests are served.
    pub(super) ready_path: &'static str,
    /// The model's name in requests.
    pub(super) model: &'static str,
    pub(super) weights: Weights,
    /// What it is asked for.
    pub(super) task: Task,
    /// The backends that it speaks, in SGLang's words.
    pub(super) backends: &'static [&'static str],
    pub(super) honours_ignore_eos: bool,
    /// It takes log-probabilities as a number of likeliest tokens.
    pub(super) takes_logprobs: bool,
    pub(super) refusals: &'static [Refusal],
    /// The engine's own client, which its environment has: what Python is told to run.
    pub(super) peer: Option<&'static [&'static str]>,
}

/// A model that is made here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    /// The script that writes it.
    pub(super) script: &'static str,
    /// The folder that the script is given.
    pub(super) folder: &'static str,
    /// The model's own folder: that one, or one in it.
    pub(super) model: &'static str,
}

/// What a server is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Task {
    /// Text.
    Generate,
    /// Vectors.
    Embed,
    /// Scores.
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

/// A request that the engine refuses, and how.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) name: &'static str,
    pub(super) backend: &'static str,
    pub(super) flags: &'static [&'static str],
    pub(super) status: u16,
    /// The kind of failure that the log should name.
    pub(super) kind: &'static str,
    /// What the server says, in part.
    pub(super) says: &'static str,
}

/// Every engine, the quickest first.
pub(super) const ALL: [&Engine; 4] = [&mlx::MLX, &sglang::SGLANG, &vllm::VLLM, &infinity::INFINITY];

/// A small Llama of random weights.
pub(super) const TINY_LLAMA: Weights =
    Weights { script: "tiny_model.py", folder: "model", model: "model" };
/// An adapter of random weights for it.
pub(super) const TINY_ADAPTER: Weights =
    Weights { script: "tiny_adapter.py", folder: "adapter", model: "adapter" };
/// An embedder, with a ranker of random weights beside it.
const EMBEDDER: Weights = Weights { script: "minilm.py", folder: "encoders", model: "encoders" };
const RANKER: Weights = Weights { model: "encoders/reranker", ..EMBEDDER };
