//! Contents of a run log besides the requests: header and footer.

use serde::{Deserialize, Serialize};

use super::{PieceCounts, RankClock, RankFacts, Ranks};
use crate::record::is_default;
use crate::{CountedWork, JsonObject, RequestKey, Stamp};

/// The first line of a log: what was planned, by which program, on which machine.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Header {
    /// Version of the log format.
    pub format: u32,
    /// Version of the program that wrote the log.
    #[serde(default)]
    pub servemark: String,
    /// When the run's clock started, in nanoseconds since the Unix epoch.
    #[serde(default)]
    pub clock_started_unix_ns: u64,
    /// The machine that measured.
    #[serde(default)]
    pub host: HostFacts,
    /// The parts of the plan that a score or a report needs.
    pub facts: RunFacts,
    /// Names of the headers that carried credentials: that of the API key and those given by the
    /// user. Their values are not stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<String>,
    /// Which part of the run this log has, if several processes share the run; the facts are those
    /// of this part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<Box<RankFacts>>,
    /// The processes that shared the run, if this log was merged from theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Ranks>,
    /// The engine that answered, if this program drove it itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineFacts>,
    /// The server's description of itself before the first request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_info: Option<serde_json::Value>,
    /// The whole plan, sufficient to run it again; null if another program wrote the log. It holds
    /// no secrets.
    #[serde(default)]
    pub plan: serde_json::Value,
}

impl Header {
    /// Version of the log format that this crate writes.
    pub const FORMAT: u32 = 1;

    /// Creates a header for a run whose clock started at `clock_started_unix_ns`.
    pub fn new(clock_started_unix_ns: u64, facts: RunFacts, plan: serde_json::Value) -> Self {
        Self {
            format: Self::FORMAT,
            servemark: env!("CARGO_PKG_VERSION").to_owned(),
            clock_started_unix_ns,
            host: HostFacts::of_this_machine(),
            facts,
            credentials: Vec::new(),
            rank: None,
            ranks: None,
            engine: None,
            server_info: None,
            plan,
        }
    }
}

/// The machine that measured; empty if another program wrote the log and does not say.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HostFacts {
    /// Operating system and architecture.
    pub system: String,
    /// Number of cores that this process may use.
    pub cores: usize,
}

impl HostFacts {
    /// Reads the facts of this machine.
    pub fn of_this_machine() -> Self {
        Self {
            system: format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// The engine that answered, as it describes itself after loading.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EngineFacts {
    /// Name of the engine, such as `sglang`, `vllm` or `candle`.
    pub name: String,
    /// Version of the engine.
    pub version: String,
    /// Whether the engine computes with a model's weights.
    pub weights: Weights,
    /// Device that the engine computes on.
    pub device: String,
    /// Data type of the weights.
    pub dtype: String,
    /// How the engine batches requests, in its own words.
    pub batch_policy: String,
    /// Maximum number of tokens of a prompt and its output together, if the engine reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u32>,
    /// Nanoseconds that loading took, which is not part of the run.
    pub load_ns: u64,
}

impl EngineFacts {
    /// Creates the facts of an engine of which only name and version are known.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }
}

/// Whether an engine computes with a model's weights. Closed: it does or it does not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// Random weights of the right shape: times are real, texts are not.
    Dummy,
    /// The model's own weights.
    #[default]
    Real,
}

/// The parts of the plan that a score or a report needs.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct RunFacts {
    /// Name of the backend, as the user wrote it.
    pub backend: String,
    /// Path that requests are sent to.
    pub api_path: String,
    /// Whether answers have no tokens although the path's name does not show it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tokenless: bool,
    /// Address of the server, without credentials.
    pub target: String,
    /// Whether the server's TLS certificate was checked, if it has one.
    #[serde(skip_serializing_if = "is_default")]
    pub certificate: CertificateCheck,
    /// Model name that is sent to the server.
    pub model: String,
    /// The model's own name, if another one is sent to the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    /// Source of the tokenizer.
    pub tokenizer: String,
    /// Name of the data set.
    pub dataset: String,
    /// Number of requests that the data set gave.
    pub requests: usize,
    /// Number of sessions that these requests form.
    pub sessions: usize,
    /// Whether the sessions are conversations whatever number of turns each has.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub converse: bool,
    /// The data sets that were combined, in order, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<DataPart>,
    /// Seed of all random draws.
    pub seed: u64,
    /// Requests per second; absent if all are due at once or a trace gives the times.
    pub request_rate: Option<f64>,
    /// Whether a trace gives the due times; there is no rate then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
    /// The concurrency limit, if there is one.
    pub max_concurrency: Option<usize>,
    /// Whether the target was the bundled simulator.
    pub simulated: bool,
    /// GPUs that serve, and their price.
    #[serde(skip_serializing_if = "Hardware::is_unknown")]
    pub hardware: Hardware,
    /// Values of the command line that a peer's result file repeats, in the peer's order.
    pub echo: JsonObject,
}

impl RunFacts {
    /// Returns whether only a concurrency limit decides when requests are sent: all are due at
    /// once, and each is let through when an earlier one has ended.
    pub fn is_closed_loop(&self) -> bool {
        self.max_concurrency.is_some() && self.request_rate.is_none() && !self.replayed
    }
}

/// GPUs that serve the model, as the user states them.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hardware {
    /// Number of GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
    /// Price of one GPU for an hour, in any currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_per_gpu_hour: Option<f64>,
}

impl Hardware {
    /// Returns whether nothing is stated.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether a server's TLS certificate was checked. Closed: it was or it was not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CertificateCheck {
    /// The certificate was checked as usual, if the connection used TLS.
    #[default]
    Usual,
    /// The certificate was not checked: any server was accepted.
    Skipped,
}

/// One of several data sets that were sent as one.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DataPart {
    /// Name of the data set.
    pub name: String,
    /// Number of sessions drawn from it.
    pub sessions: usize,
}

impl DataPart {
    /// Creates a part of `sessions` sessions.
    pub fn new(name: impl Into<String>, sessions: usize) -> Self {
        Self { name: name.into(), sessions }
    }
}

impl RunFacts {
    /// Returns whether answers consist of tokens. Embeddings, rankings and decisions do not: they
    /// have no output tokens and no first token.
    pub fn generates(&self) -> bool {
        let route = self.api_path.rsplit('/').next().unwrap_or_default();
        !self.tokenless && !["embeddings", "pooling", "rerank"].contains(&route)
    }
}

/// The last line of a log: what was learned by the end of the requests.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Footer {
    /// When the measurement began; its first request may be due later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began: Option<Stamp>,
    /// When the last request of the measurement ended.
    pub ended: Stamp,
    /// Whether the run ended before its plan was done: the user stopped it, the engine ended, or a
    /// thread that sends and reads was lost.
    pub interrupted: bool,
    /// The check at which all requested figures were known precisely enough, so that the run ended
    /// before its plan was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_stop: Option<EarlyStop>,
    /// When the client stopped reusing connections, if it did: the server had closed several in a
    /// row after whole answers that announced keep-alive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reuse_ended: Option<Stamp>,
    /// How the engine ended, if it ended before the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_ended: Option<String>,
    /// Resources that the client itself used during the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientCost>,
    /// The clock of rank 0 after the measurement, if several processes share the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank_clock: Option<RankClock>,
    /// The audit of the client's influence on its own measurement, as its author wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<serde_json::Value>,
    /// The server's description of itself after the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_info: Option<serde_json::Value>,
    /// Mean accepted length of speculative decoding since the server's start, as the server reports
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_length: Option<f64>,
    /// The server's counters before and after the measurement, if it was asked and has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_counters: Option<CountedWork>,
    /// Each measured request's output, counted again with our tokenizer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retokenized: Vec<Retokenized>,
    /// What the bundled simulator really did, for each request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub truth: Vec<SimulatedTimes>,
    /// What first prompts have in common with earlier ones: all of them where the data set shares
    /// prefixes by design, otherwise those of the audit of the server's prefix cache.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared_prefixes: Vec<SharedPrefix>,
}

/// The part of a measured prompt that an earlier prompt of the run begins with, too.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SharedPrefix {
    /// Position of the request's session in the plan.
    pub index: usize,
    /// Number of tokens of that part.
    pub tokens: u32,
}

impl SharedPrefix {
    /// Creates the facts of one prompt.
    pub fn new(index: usize, tokens: u32) -> Self {
        Self { index, tokens }
    }
}

/// The check of a run's precision that ended it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EarlyStop {
    /// One-based number of the check.
    pub look: usize,
    /// Number of measured requests that had ended at the check.
    pub requests: usize,
}

impl EarlyStop {
    /// Creates the facts of check number `look`, made after `requests` requests.
    pub fn new(look: usize, requests: usize) -> Self {
        Self { look, requests }
    }
}

/// Resources that the client itself used during the measurement, and those it had to wait for.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ClientCost {
    /// CPU nanoseconds of all sending and reading threads together.
    pub cpu_ns: u64,
    /// Wall-clock nanoseconds of the measurement.
    pub wall_ns: u64,
    /// The cost of each of those threads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<ShardCost>,
    /// Nanoseconds that the hypervisor gave to others while a core of this machine was ready to
    /// run, summed over all cores; absent if the system does not report them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_ns: Option<u64>,
    /// Nanoseconds for which requests could not be sent because the writer of the run log was too
    /// far behind, summed over all requests.
    #[serde(skip_serializing_if = "is_default")]
    pub log_wait_ns: u64,
}

/// Resources that one sending and reading thread used, and those it had to wait for.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ShardCost {
    /// CPU nanoseconds of the thread.
    pub cpu_ns: u64,
    /// Number of involuntary context switches: the thread lost its core while it had work to do.
    pub involuntary_switches: u64,
    /// Nanoseconds for which the thread was ready to run and no core was free; absent if the system
    /// does not report them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_delay_ns: Option<u64>,
}

impl ClientCost {
    /// Creates the cost of a single thread of which only these times are known.
    pub fn new(cpu_ns: u64, wall_ns: u64) -> Self {
        Self { cpu_ns, wall_ns, ..Self::default() }
    }
}

/// One request's output, counted again with our tokenizer.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Retokenized {
    /// Position of the request's session in the plan.
    pub index: usize,
    /// Zero-based turn of the session.
    #[serde(default, skip_serializing_if = "is_default")]
    pub turn: u32,
    /// Number of tokens of the whole text, special tokens left out.
    pub tokens: u32,
    /// Number of tokens of each piece, tokenized alone, if the wire does not count them.
    #[serde(default, skip_serializing_if = "PieceCounts::is_empty")]
    pub pieces: PieceCounts,
    /// Number of tokens of the whole text that end within each piece, by their offsets; absent if
    /// the sum of `pieces` is `tokens`.
    #[serde(default, skip_serializing_if = "PieceCounts::is_empty")]
    pub placed: PieceCounts,
    /// Number of tokens of the [joined text](crate::RequestRecord::joined_text), if it is not the
    /// text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined: Option<u32>,
}

impl Retokenized {
    /// Creates the counts of one request.
    pub fn new((index, turn): RequestKey, tokens: u32, pieces: Vec<u32>) -> Self {
        let placed = PieceCounts::default();
        Self { index, turn, tokens, pieces: pieces.into(), placed, joined: None }
    }

    /// Sets the number of tokens of the whole text that end within each piece.
    #[must_use]
    pub fn with_placed(self, placed: Vec<u32>) -> Self {
        Self { placed: placed.into(), ..self }
    }

    /// Sets the number of tokens of the joined text.
    #[must_use]
    pub fn with_joined(self, joined: Option<u32>) -> Self {
        Self { joined, ..self }
    }

    /// Returns the key that identifies the request within the run.
    pub fn key(&self) -> RequestKey {
        (self.index, self.turn)
    }
}

/// When the bundled simulator really sent a request's output, counted from the moment at which it
/// had read the request.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SimulatedTimes {
    /// Position of the request's session in the plan.
    pub index: usize,
    /// Zero-based turn of the session.
    #[serde(default, skip_serializing_if = "is_default")]
    pub turn: u32,
    /// Nanoseconds to each piece of output.
    pub sent_ns: Vec<u64>,
    /// The parts of the time before the first piece, if the simulator kept them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<SimulatedParts>,
}

/// How the bundled simulator really spent the time before the first output of a request, in
/// nanoseconds.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SimulatedParts {
    /// Time from the reception of the request until it entered the queue.
    pub frontend_ns: u64,
    /// Time in the queue, until the request was served.
    pub queue_ns: u64,
    /// Time of the prompt's computation.
    pub prefill_ns: u64,
    /// Time of the transfer of the prompt's key-value cache to where it was needed.
    pub kv_transfer_ns: u64,
}

impl SimulatedParts {
    /// Creates the parts, in the order in which they happen.
    pub fn new(frontend_ns: u64, queue_ns: u64, prefill_ns: u64, kv_transfer_ns: u64) -> Self {
        Self { frontend_ns, queue_ns, prefill_ns, kv_transfer_ns }
    }
}

impl SimulatedTimes {
    /// Creates the send times of one request.
    pub fn new((index, turn): RequestKey, sent_ns: Vec<u64>) -> Self {
        Self { index, turn, sent_ns, parts: None }
    }

    /// Sets the parts of the time before the first piece.
    #[must_use]
    pub fn with_parts(self, parts: Option<SimulatedParts>) -> Self {
        Self { parts, ..self }
    }

    /// Returns the key that identifies the request within the run.
    pub fn key(&self) -> RequestKey {
        (self.index, self.turn)
    }
}
