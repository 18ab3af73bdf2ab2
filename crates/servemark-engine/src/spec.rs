//! Which engine, and how it is given its requests.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_core::JsonObject;

use crate::{CandleSpec, Sampling, ScriptedSpec};

/// An engine and how it is given its requests.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct EngineRunSpec {
    /// Which engine.
    pub engine: EngineSpec,
    /// How it is given its requests.
    #[serde(default)]
    pub submission: Submission,
    /// How it chooses tokens.
    #[serde(default)]
    pub sampling: Sampling,
    /// What becomes of a prompt that is text.
    #[serde(default)]
    pub prompts: PromptForm,
    /// For how long it may be silent, while it loads or has requests, before it counts as hung.
    #[serde(default = "usual_patience", with = "servemark_core::seconds")]
    pub patience: Duration,
}

impl EngineRunSpec {
    /// An engine that is given all requests at once.
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

/// Which engine.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EngineSpec {
    /// The one in this program, if it was built with it.
    Candle(CandleSpec),
    /// One that does as a test says.
    Scripted(ScriptedSpec),
    /// A real one, in a process of its own Python.
    Worker(Box<WorkerSpec>),
}

impl EngineSpec {
    /// The engine's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Candle(_) => "candle",
            Self::Scripted(_) => "scripted",
            Self::Worker(worker) => worker.engine.as_str(),
        }
    }

    /// What SGLang calls the way in which it is driven.
    pub fn backend(&self) -> &'static str {
        match self {
            Self::Worker(worker) if worker.engine == WorkerEngine::SglangRuntime => "runtime",
            _ => "engine",
        }
    }

    /// Whether requests may ask for adapters.
    pub fn has_adapters(&self) -> bool {
        matches!(self, Self::Worker(worker) if worker.engine == WorkerEngine::Vllm)
    }
}

/// How an engine is given its requests. Closed: together or not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Submission {
    /// All requests of a run, or of a wave of it, in one call.
    #[default]
    AtOnce,
    /// Each for itself when it is due; its tokens come as they are made.
    OneByOne,
}

/// What becomes of a prompt that is text before an engine is given it. Closed: these are what an
/// engine can be given.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptForm {
    /// It is made tokens of before it is due.
    #[default]
    Tokens,
    /// It stays text: the engine makes tokens of it, which is part of the time then.
    Text,
    /// It becomes what a user says in a conversation, which the engine renders and makes tokens of.
    Chat,
}

/// A real engine in a process of its own Python.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct WorkerSpec {
    /// Whose it is.
    pub engine: WorkerEngine,
    /// The interpreter that can import it.
    pub python: PathBuf,
    /// What the engine's constructor is given, unchanged.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub args: JsonObject,
    /// What the engine's own command line is given, unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// What each of its generating calls is given besides requests, unchanged.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub call: JsonObject,
    /// What its environment has besides ours.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Where all that it prints is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
    /// Whether that file gets the first free name, as for a name that nobody gave, in place of being
    /// emptied where it exists.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub numbers_log: bool,
}

impl WorkerSpec {
    /// An engine of its own defaults.
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
#[non_exhaustive]
pub enum WorkerEngine {
    /// `sglang.Engine`.
    Sglang,
    /// `sglang.Runtime`, a server that the worker starts and asks.
    SglangRuntime,
    /// A model of Transformers, which generates for batches as vLLM's benchmark has it do.
    Transformers,
    /// `vllm.LLM`, or `AsyncLLM` where requests come one by one.
    Vllm,
}

impl WorkerEngine {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sglang => "sglang",
            Self::SglangRuntime => "sglang_runtime",
            Self::Transformers => "transformers",
            Self::Vllm => "vllm",
        }
    }
}

/// Large models take long to load, and a call with all requests of a run says nothing to its end.
fn usual_patience() -> Duration {
    Duration::from_secs(3600)
}
