//! What stands in a log beside the requests.

use serde::{Deserialize, Serialize};

use super::PieceCounts;
use crate::record::is_default;
use crate::{CountedWork, JsonObject, RequestKey, Stamp};

/// The first line of a log: what was planned, by which program, on which machine.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Header {
    /// The version of this format.
    pub format: u32,
    /// The version of the program that wrote it.
    pub servemark: String,
    /// When the run's clock started, in nanoseconds since the Unix epoch.
    pub clock_started_unix_ns: u64,
    /// The machine that measured.
    pub host: HostFacts,
    /// What a score or a report needs to know of the plan.
    pub facts: RunFacts,
    /// The names of the headers that carried credentials: the API key's, and those that the user gave.
    /// Their values are nowhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<String>,
    /// The engine that answered, where this program drove it itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineFacts>,
    /// The server's description of itself before it was asked for anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_info: Option<serde_json::Value>,
    /// The whole plan, enough to run it again. No secret is in it.
    pub plan: serde_json::Value,
}

impl Header {
    /// The version of the format that this crate writes.
    pub const FORMAT: u32 = 1;

    /// A header for a run whose clock started at `clock_started_unix_ns`.
    pub fn new(clock_started_unix_ns: u64, facts: RunFacts, plan: serde_json::Value) -> Self {
        Self {
            format: Self::FORMAT,
            servemark: env!("CARGO_PKG_VERSION").to_owned(),
            clock_started_unix_ns,
            host: HostFacts::of_this_machine(),
            facts,
            credentials: Vec::new(),
            engine: None,
            server_info: None,
            plan,
        }
    }
}

/// The machine that measured.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HostFacts {
    /// Operating system and architecture.
    pub system: String,
    /// Cores that this process may use.
    pub cores: usize,
}

impl HostFacts {
    /// Looks at this machine.
    pub fn of_this_machine() -> Self {
        Self {
            system: format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// The engine that answered, as it describes itself once it is loaded.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EngineFacts {
    /// Its name: `sglang`, `vllm`, `candle`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it computes with a model's weights.
    pub weights: Weights,
    /// What it computes on.
    pub device: String,
    /// The type of its weights.
    pub dtype: String,
    /// How it puts requests together, in its own words.
    pub batch_policy: String,
    /// How many tokens a prompt and its output may have together, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u32>,
    /// Nanoseconds that it took to load; they are no part of the run.
    pub load_ns: u64,
}

impl EngineFacts {
    /// An engine of which no more is known.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }
}

/// Whether an engine computes with a model's weights. Closed: it does or it does not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// Random ones of the right shape: the times are real and the words are not.
    Dummy,
    /// The model's own.
    #[default]
    Real,
}

/// What a score or a report needs to know of the plan.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RunFacts {
    /// The backend's name, as the user spells it.
    pub backend: String,
    /// The path that requests go to.
    pub api_path: String,
    /// Whether answers are not made of tokens though the path's name does not say so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tokenless: bool,
    /// The server's address, without credentials.
    pub target: String,
    /// What was done about the server's TLS certificate, where it has one.
    #[serde(skip_serializing_if = "is_default")]
    pub certificate: CertificateCheck,
    /// The model's name, as the server is told it.
    pub model: String,
    /// The model's own name, where the server is told another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    /// Where the tokenizer came from.
    pub tokenizer: String,
    /// The data set's name.
    pub dataset: String,
    /// How many requests the data set gave.
    pub requests: usize,
    /// How many sessions they make.
    pub sessions: usize,
    /// The parts that they are of, in order, where several data sets were sent as one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<DataPart>,
    /// The seed of every draw.
    pub seed: u64,
    /// Requests per second; absent when all are due at once, or when a trace says.
    pub request_rate: Option<f64>,
    /// Whether they are due when a trace says; there is no rate then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
    /// The concurrency limit, if there is one.
    pub max_concurrency: Option<usize>,
    /// Whether the target was the bundled simulator.
    pub simulated: bool,
    /// What a peer's result file repeats of its command line, in the peer's order.
    pub echo: JsonObject,
}

/// Whether a server's TLS certificate was checked. Closed: it was or it was not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CertificateCheck {
    /// As usual, if the server was asked over TLS.
    #[default]
    Usual,
    /// It was not: whoever answered was believed.
    Skipped,
}

/// One of several data sets that were sent as one.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DataPart {
    /// Its name.
    pub name: String,
    /// How many of the sessions are its own.
    pub sessions: usize,
}

impl DataPart {
    /// So many sessions of a data set.
    pub fn new(name: impl Into<String>, sessions: usize) -> Self {
        Self { name: name.into(), sessions }
    }
}

impl RunFacts {
    /// Whether answers are made of tokens. Embeddings, rankings and decisions are not: they have no
    /// output tokens, and no first one.
    pub fn generates(&self) -> bool {
        let route = self.api_path.rsplit('/').next().unwrap_or_default();
        !self.tokenless && !["embeddings", "pooling", "rerank"].contains(&route)
    }
}

/// The last line of a log: what was learned when the requests were done.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Footer {
    /// When the measurement began, from which its first request may be due later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began: Option<Stamp>,
    /// When the last request of the measurement was done.
    pub ended: Stamp,
    /// Whether the user stopped the run before its plan was through, or a part of it died.
    pub interrupted: bool,
    /// The look at which every figure that was to be known was known well enough, so that the run ended
    /// before its plan was through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_stop: Option<EarlyStop>,
    /// When the client stopped reusing connections, if it did: the server had closed several in a row
    /// after whole answers that announced keep-alive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reuse_ended: Option<Stamp>,
    /// How the engine ended, if it did before the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_ended: Option<String>,
    /// What the client itself used during the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientCost>,
    /// What the client did to its own measurement: an audit as its maker wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<serde_json::Value>,
    /// The server's description of itself after the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_info: Option<serde_json::Value>,
    /// The mean accepted length of speculative decoding since the server's start, by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_length: Option<f64>,
    /// The server's counters before and after the measurement, if it was asked and has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_counters: Option<CountedWork>,
    /// Each measured request's output, counted again with our tokenizer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retokenized: Vec<Retokenized>,
    /// What the bundled simulator really did, request by request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub truth: Vec<Truth>,
}

/// The look at a run that ended it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EarlyStop {
    /// One-based number of the look.
    pub look: usize,
    /// Number of measured requests that were over then.
    pub requests: usize,
}

impl EarlyStop {
    /// A look of this number at so many requests.
    pub fn new(look: usize, requests: usize) -> Self {
        Self { look, requests }
    }
}

/// What the client itself used during the measurement, and what it was kept from.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ClientCost {
    /// CPU nanoseconds of the threads that sent and read, together.
    pub cpu_ns: u64,
    /// Wall nanoseconds of the measurement.
    pub wall_ns: u64,
    /// Each of those threads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<ShardCost>,
    /// Nanoseconds that the hypervisor gave to others while a core of this machine wanted to run,
    /// all cores together; absent where the system does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_ns: Option<u64>,
    /// Nanoseconds for which requests could not be sent because the writer of the run log was too
    /// far behind, all requests together.
    #[serde(skip_serializing_if = "is_default")]
    pub log_wait_ns: u64,
}

/// What one thread that sent and read used, and what it was kept from.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ShardCost {
    /// CPU nanoseconds.
    pub cpu_ns: u64,
    /// How often it was taken off its core though it had work to do.
    pub involuntary_switches: u64,
    /// Nanoseconds for which it could have run and no core was free; absent where the system does
    /// not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_delay_ns: Option<u64>,
}

impl ClientCost {
    /// The cost of one thread of which no more is known.
    pub fn new(cpu_ns: u64, wall_ns: u64) -> Self {
        Self { cpu_ns, wall_ns, ..Self::default() }
    }
}

/// One request's output, counted again with our tokenizer.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Retokenized {
    /// The request's session.
    pub index: usize,
    /// Its turn.
    #[serde(default, skip_serializing_if = "is_default")]
    pub turn: u32,
    /// Tokens of the whole text, special tokens left out.
    pub tokens: u32,
    /// Tokens of each piece, tokenized alone, where the wire does not count them.
    #[serde(default, skip_serializing_if = "PieceCounts::is_empty")]
    pub pieces: PieceCounts,
    /// Tokens of the whole text that end within each piece, by their offsets; absent where `pieces`
    /// add up to `tokens`.
    #[serde(default, skip_serializing_if = "PieceCounts::is_empty")]
    pub placed: PieceCounts,
}

impl Retokenized {
    /// Counts of one request.
    pub fn new((index, turn): RequestKey, tokens: u32, pieces: Vec<u32>) -> Self {
        Self { index, turn, tokens, pieces: pieces.into(), placed: PieceCounts::default() }
    }

    /// The same counts with the tokens of the whole text that end within each piece.
    #[must_use]
    pub fn with_placed(self, placed: Vec<u32>) -> Self {
        Self { placed: placed.into(), ..self }
    }

    /// Which request of the run it is.
    pub fn key(&self) -> RequestKey {
        (self.index, self.turn)
    }
}

/// When the bundled simulator really sent a request's output, counted from the moment at which it
/// had read the request.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Truth {
    /// The request's session.
    pub index: usize,
    /// Its turn.
    #[serde(default, skip_serializing_if = "is_default")]
    pub turn: u32,
    /// Nanoseconds to each piece of output.
    pub sent_ns: Vec<u64>,
}

impl Truth {
    /// The truth of one request.
    pub fn new((index, turn): RequestKey, sent_ns: Vec<u64>) -> Self {
        Self { index, turn, sent_ns }
    }

    /// Which request of the run it is.
    pub fn key(&self) -> RequestKey {
        (self.index, self.turn)
    }
}
