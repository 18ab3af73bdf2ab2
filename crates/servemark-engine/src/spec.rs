//! Which engine runs, and how it receives requests.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_core::JsonObject;

use crate::{CandleSpec, Sampling, ScriptedSpec};

/// An engine and how it receives requests.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EngineRunSpec {
    /// The engine and its configuration.
    pub engine: EngineSpec,
    /// Whether requests are submitted together or one by one.
    #[serde(default)]
    pub submission: Submission,
    /// How the engine chooses tokens.
    #[serde(default)]
    pub sampling: Sampling,
    /// The form in which text prompts are submitted.
    #[serde(default)]
    pub prompts: PromptForm,
    /// How long the engine may be silent, while it loads or has requests, before it counts as hung.
    #[serde(default = "usual_patience", with = "servemark_core::seconds")]
    pub patience: Duration,
}

impl EngineRunSpec {
    /// Returns a spec with which the engine receives all requests at once.
    pub fn new(engine: EngineSpec) -> Self {
        Self {
            engine,
            submission: Submission::default(),
            sampling: Sampling::default(),
            prompts: PromptForm::default(),
            patience: usual_patience(),
        }
    }
}

/// An engine and its configuration.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineSpec {
    /// The engine in this program, if the program was built with it.
    Candle(CandleSpec),
    /// A scripted engine for tests.
    Scripted(ScriptedSpec),
    /// A real engine in a process of its own Python.
    Worker(Box<WorkerSpec>),
}

impl EngineSpec {
    /// Returns the engine's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Candle(_) => "candle",
            Self::Scripted(_) => "scripted",
            Self::Worker(worker) => worker.engine.as_str(),
        }
    }

    /// Returns SGLang's name for the way in which the engine is driven.
    pub fn backend(&self) -> &'static str {
        match self {
            Self::Worker(worker) if worker.engine == WorkerEngine::SglangRuntime => "runtime",
            _ => "engine",
        }
    }

    /// Whether requests may select adapters.
    pub fn has_adapters(&self) -> bool {
        matches!(self, Self::Worker(worker) if worker.engine == WorkerEngine::Vllm)
    }
}

/// How requests are submitted to an engine.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Submission {
    /// All requests of a run, or of a wave of it, are submitted in one call.
    #[default]
    AtOnce,
    /// Each request is submitted when it is due; its tokens arrive as they are made.
    OneByOne,
}

/// The form in which text prompts are submitted to an engine.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptForm {
    /// Token ids: the client tokenizes the text before the request is due.
    #[default]
    Tokens,
    /// Text: the engine tokenizes it, which is part of the measured time.
    Text,
    /// A conversation of one user message: the engine renders and tokenizes it.
    Chat,
}

/// A real engine in a process of its own Python.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerSpec {
    /// The Python library of the engine.
    pub engine: WorkerEngine,
    /// The Python interpreter that can import the library.
    pub python: PathBuf,
    /// Arguments of the engine's constructor, passed on unchanged.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub args: JsonObject,
    /// Flags of the engine's own command line, passed on unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// Additional arguments of each call that generates, passed on unchanged.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub call: JsonObject,
    /// Variables added to the process's environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// The file for everything that the engine prints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
    /// Whether the log gets the first free numbered name, as for default names, instead of
    /// replacing an existing file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub numbers_log: bool,
}

impl WorkerSpec {
    /// Returns a spec of the engine with its default configuration.
    pub fn new(engine: WorkerEngine, python: impl Into<PathBuf>) -> Self {
        Self {
            engine,
            python: python.into(),
            args: JsonObject::new(),
            argv: Vec::new(),
            call: JsonObject::new(),
            environment: BTreeMap::new(),
            log: None,
            numbers_log: false,
        }
    }
}

/// An engine that is a Python library.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerEngine {
    /// The class `sglang.Engine`.
    Sglang,
    /// `sglang.Runtime`, a server that the worker starts and sends requests to.
    SglangRuntime,
    /// A model of Transformers that generates in batches, as in vLLM's benchmark.
    Transformers,
    /// `vllm.LLM`, or `AsyncLLM` where requests are submitted one by one.
    Vllm,
}

impl WorkerEngine {
    /// Returns the engine's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sglang => "sglang",
            Self::SglangRuntime => "sglang_runtime",
            Self::Transformers => "transformers",
            Self::Vllm => "vllm",
        }
    }
}

/// The default patience: large models take long to load, and a call with all requests of a run
/// prints nothing until its end.
fn usual_patience() -> Duration {
    Duration::from_secs(3600)
}
