//! The plan of a run and its workload.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use servemark_backends::{BackendName, BackendSpec, CommonSpec, ProvidedSpec, Route, ServerKind};
use servemark_core::JsonObject;
use servemark_datasets::{DatasetSpec, Grouping, PromptFormat};
#[cfg(feature = "engine")]
use servemark_engine::Submission;
use servemark_runner::LoadSpec;
use servemark_target::BaseUrl;
use servemark_tokenizer::TokenizerSpec;

use crate::{ControlSpec, OutputSpec, PlanError, ScoringSpec, ServerSpec};

/// The plan of a whole benchmark run.
///
/// Serde reads and writes it as a JSON value, which [`from_json`](Self::from_json) and
/// [`to_json`](Self::to_json) convert. Code that is derived for all backends and data sets is
/// therefore compiled in this crate only, and not again in each crate that reads a plan.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct BenchPlan {
    /// Server or engine that is measured.
    pub server: ServerSpec,
    /// Control requests to the server around the measurement.
    #[serde(default)]
    pub control: ControlSpec,
    /// Name of the backend, which selects the server's conventions.
    pub backend: BackendName,
    /// Wire dialect of the route.
    pub wire: BackendSpec,
    /// Model and tokenizer.
    #[serde(default)]
    pub model: ModelSpec,
    /// Requests that are sent.
    pub workload: WorkloadSpec,
    /// When requests are sent.
    #[serde(default)]
    pub load: LoadSpec,
    /// Optional warm-up plan; it runs first and is not reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<Box<Self>>,
    /// Scoring of the run.
    #[serde(default)]
    pub scoring: ScoringSpec,
    /// Output files.
    #[serde(default)]
    pub output: OutputSpec,
    /// Command-line values that a peer's result file repeats, in the peer's order.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub echo: JsonObject,
}

/// Model and tokenizer, by the names that users have for them.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSpec {
    /// Name of the model; if absent, the first model that the server lists.
    pub name: Option<String>,
    /// Name that requests carry; if absent, `name`.
    pub served_name: Option<String>,
    /// Location of the tokenizer; if absent, the one that the server reports, or else the model's
    /// name.
    pub tokenizer: Option<TokenizerSpec>,
    /// Whether the tokenizer is Mistral's own file, `tekken.json`, whatever other files are beside
    /// it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mistral_tokenizer: bool,
    /// Whether the run has no tokenizer. Prompts are then token ids, or texts that count as one
    /// token each, and only the server counts outputs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub untokenized: bool,
    /// Whether the tokenizer is the one that is built into this program, because neither the plan
    /// nor the server has another.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bundled_tokenizer: bool,
}

/// The requests that a run sends.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpec {
    /// Data set that samples come from.
    pub dataset: DatasetSpec,
    /// Largest number of requests.
    #[serde(default = "usual_requests")]
    pub requests: usize,
    /// Grouping of samples into requests.
    #[serde(default, skip_serializing_if = "Grouping::is_single")]
    pub grouping: Grouping,
    /// Seed of all draws.
    #[serde(default = "usual_seed")]
    pub seed: u32,
    /// A few letters at the start of every session's first prompt, so that no server cache contains
    /// it; they count as part of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_salt: Option<String>,
    /// Earlier runs that drew from the same generators, in their order; this run's draws follow
    /// theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<EarlierSpec>,
}

/// Number of requests of a document that gives none, which is that of the peers' clients.
const fn usual_requests() -> usize {
    1000
}

/// SGLang's default seed.
const fn usual_seed() -> u32 {
    42
}

/// The draws of an earlier run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EarlierSpec {
    /// Data set that the samples came from.
    pub dataset: DatasetSpec,
    /// Largest number of requests.
    pub requests: usize,
    /// Load of the earlier run, which decides when its requests were sent.
    pub load: LoadSpec,
}

impl EarlierSpec {
    /// Returns the draws of a plan.
    pub fn of(plan: &BenchPlan) -> Self {
        let WorkloadSpec { dataset, requests, .. } = &plan.workload;
        Self { dataset: dataset.clone(), requests: *requests, load: plan.load.clone() }
    }
}

impl WorkloadSpec {
    /// Creates a workload of `requests` samples of a data set, drawn with SGLang's default seed.
    pub fn new(dataset: DatasetSpec, requests: usize) -> Self {
        Self {
            dataset,
            requests,
            grouping: Grouping::Single,
            seed: usual_seed(),
            prompt_salt: None,
            after: Vec::new(),
        }
    }
}

impl Serialize for BenchPlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for BenchPlan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document = serde_json::Value::deserialize(deserializer)?;
        Self::from_json(document).map_err(D::Error::custom)
    }
}

impl BenchPlan {
    /// Creates a plan with default settings for everything else.
    pub fn new(
        server: ServerSpec,
        backend: BackendName,
        wire: BackendSpec,
        workload: WorkloadSpec,
        load: LoadSpec,
    ) -> Self {
        Self {
            server,
            control: ControlSpec::default(),
            backend,
            wire,
            model: ModelSpec::default(),
            workload,
            load,
            warm_up: None,
            scoring: ScoringSpec::default(),
            output: OutputSpec::default(),
            echo: JsonObject::new(),
        }
    }

    /// Returns the plan as a document, as the run log's header contains it. `{:#}` formats it for
    /// reading.
    ///
    /// # Panics
    ///
    /// Never: a plan is plain data.
    pub fn to_json(&self) -> serde_json::Value {
        Self::serialize(self, serde_json::value::Serializer).expect("a plan is plain data")
    }

    /// Returns the plan of a whole document, as [`to_json`](Self::to_json) makes it. A document
    /// that a person writes may leave keys out; see [`from_document`](Self::from_document).
    ///
    /// # Errors
    ///
    /// Returns serde's message about the first fault.
    pub fn from_json(document: serde_json::Value) -> serde_json::Result<Self> {
        Self::deserialize(document)
    }

    /// Changes the address of the server, also for the warm-up. Returns whether the plan has a
    /// server at an address; a plan without one is not changed.
    pub fn move_to(&mut self, url: &BaseUrl) -> bool {
        let ServerSpec::At(target) = &mut self.server else { return false };
        target.base_url = url.clone();
        self.warm_up.as_mut().is_none_or(|warm_up| warm_up.move_to(url))
    }

    /// Returns the kind of the server.
    pub fn server_kind(&self) -> ServerKind {
        self.control.kind.unwrap_or(self.backend.server())
    }

    /// Returns whether the server is asked about itself after the run. SGLang's client asks every
    /// server, vLLM's client none. With a dialect of the program, or for a batch as one request, a
    /// server is asked if it answers.
    pub fn asks_for_info(&self) -> bool {
        match self.wire {
            BackendSpec::Vllm(_) => false,
            BackendSpec::Batch(_) | BackendSpec::Provided(_) => self.server_kind().has_info(),
            _ => true,
        }
    }

    /// Returns whether the wire dialect is that of vLLM's client.
    pub fn speaks_vllm(&self) -> bool {
        matches!(self.wire, BackendSpec::Vllm(_))
    }

    /// Returns whether the wire dialect is that of evalscope's client.
    pub fn speaks_evalscope(&self) -> bool {
        matches!(self.wire, BackendSpec::Evalscope(_))
    }

    /// Returns the name of the backend, as its wire dialect calls it.
    pub fn wire_name(&self) -> &str {
        self.wire.own_name().unwrap_or(self.backend.as_str())
    }

    /// Returns whether the results show or contain the texts of the answers.
    pub fn shows_texts(&self) -> bool {
        let output = &self.output;
        let details = output.details || output.vllm.as_ref().is_some_and(|files| files.details);
        self.scoring.print_requests || details || output.keeps_texts
    }

    /// Refuses a plan that cannot run, before anything is opened or sent.
    pub fn check(&self) -> Result<(), PlanError> {
        self.warm_up.as_ref().map_or(Ok(()), |warm_up| warm_up.check())?;
        if self.workload.requests == 0 && !self.workload.dataset.zero_means_all() {
            return Err(PlanError::NoRequests);
        }
        let (dataset, backend) = (&self.workload.dataset, self.backend);
        let name = dataset.name();
        if matches!(dataset, DatasetSpec::Aisbench(spec) if spec.has_nested_parts()) {
            return Err(PlanError::NestedFollowers);
        }
        if self.load.arrivals.is_trace() && !dataset.has_timestamps() {
            return Err(PlanError::NoTimestamps { dataset: name });
        }
        if self.load.in_rounds && self.load.lasts.is_none() {
            return Err(PlanError::Endless);
        }
        if self.control.server_times && !self.wire.generates() {
            return Err(PlanError::NoServerTimes { backend });
        }
        let has_first_token = self.wire.generates() && self.wire.common().stream;
        if self.control.cache_audit.is_some() && !has_first_token {
            return Err(PlanError::NoCacheAudit { backend });
        }
        self.check_precision()?;
        self.check_transport()?;
        self.check_own_dialect()?;
        self.check_deferred()?;
        #[cfg(feature = "engine")]
        self.check_engine()?;
        self.check_grouping()?;
        if let Some(form) = dataset.pictured() {
            return self.check_pictures(form);
        }
        let is_passed =
            matches!(dataset, DatasetSpec::Openai(_)) && backend.route().passes_messages();
        if dataset.is_conversation() && !self.wire.takes_messages() && !is_passed {
            return Err(PlanError::NeedsChat { dataset: name, backend });
        }
        if dataset.sends_token_ids() && !self.wire.takes_ids() {
            return Err(PlanError::IdsRefused { backend });
        }
        Ok(())
    }

    fn check_precision(&self) -> Result<(), PlanError> {
        match &self.server {
            _ if !self.load.precise_send => Ok(()),
            _ if self.load.arrivals.is_burst() => Err(PlanError::PreciseBurst),
            ServerSpec::At(target) => Ok(target.check_precise()?),
            ServerSpec::Simulated(_) => Ok(()),
            ServerSpec::Provided { .. } => Err(PlanError::Provided { what: "`load.precise_send`" }),
            #[cfg(feature = "engine")]
            ServerSpec::Engine(_) => Err(PlanError::Engine { what: "`load.precise_send`" }),
        }
    }

    /// Refuses what only a server can do if the plan is for a transport of the program.
    fn check_transport(&self) -> Result<(), PlanError> {
        if !matches!(self.server, ServerSpec::Provided { .. }) {
            return Ok(());
        }
        let control = &self.control;
        let refused = [
            (self.load.probes.is_some(), "probes beside the load"),
            (control.greeting.is_some(), "a connection test"),
            (control.align_prompts, "prompts cut by the server's token counts"),
            (control.flush_cache.is_some(), "`control.flush_cache`"),
            (control.counters, "the server's counters"),
            (control.server_times, "`control.server_times`"),
            (control.cache_audit.is_some(), "`control.cache_audit`"),
            (control.telemetry.is_some(), "`control.telemetry`"),
            (control.profile.is_some(), "`control.profile`"),
        ];
        match requested(refused) {
            Some(what) => Err(PlanError::Provided { what }),
            None => Ok(()),
        }
    }

    /// Refuses settings of requests if the program writes them itself.
    fn check_own_dialect(&self) -> Result<(), PlanError> {
        let BackendSpec::Provided(ProvidedSpec { common, .. }) = &self.wire else { return Ok(()) };
        let usual = CommonSpec::default();
        let refused = [
            (common.stream != usual.stream, "`wire.stream`"),
            (common.ignore_eos != usual.ignore_eos, "`wire.ignore_eos`"),
            (common.extra_body != usual.extra_body, "`wire.extra_body`"),
        ];
        match requested(refused) {
            Some(what) => Err(PlanError::OwnDialect { what }),
            None => Ok(()),
        }
    }

    /// Refuses what needs answers that are decoded while they arrive, or requests that are known only
    /// during the run, if the dialect works outside the measured path.
    fn check_deferred(&self) -> Result<(), PlanError> {
        if !self.wire.is_deferred() {
            return Ok(());
        }
        let control = &self.control;
        let refused = [
            (!self.server.is_server(), "a system that is not reached over HTTP"),
            (self.load.retry.is_some(), "`load.retry`"),
            (self.load.probes.is_some(), "`load.probes`"),
            (control.greeting.is_some(), "`control.greeting`"),
            (control.align_prompts, "`control.align_prompts`"),
            (control.server_times, "`control.server_times`"),
            (control.cache_audit.is_some(), "`control.cache_audit`"),
        ];
        match requested(refused) {
            Some(what) => Err(PlanError::Deferred { what }),
            None => Ok(()),
        }
    }

    /// Refuses what an engine does not take. Some engines take requests one by one, others all at
    /// once.
    #[cfg(feature = "engine")]
    fn check_engine(&self) -> Result<(), PlanError> {
        let ServerSpec::Engine(spec) = &self.server else { return Ok(()) };
        let at_once = spec.submission == Submission::AtOnce;
        let is_limited = self.load.max_concurrency.is_some() && !self.load.in_waves;
        let refused = [
            (
                at_once && !self.load.arrivals.is_burst(),
                "`load.arrivals` where it is given all at once",
            ),
            (at_once && is_limited, "`load.max_concurrency` where it is given all at once"),
            (self.load.probes.is_some(), "probes beside the load"),
            (self.scoring.until.is_some(), "`scoring.until`"),
            (self.load.adapters.is_some() && !spec.engine.has_adapters(), "`load.adapters`"),
            (self.workload.dataset.pictured().is_some(), "pictures"),
            (self.control.flush_cache.is_some(), "`control.flush_cache`"),
            (self.control.server_times, "`control.server_times`"),
            (self.control.cache_audit.is_some(), "`control.cache_audit`"),
            (self.control.telemetry.is_some(), "`control.telemetry`"),
        ];
        match requested(refused) {
            Some(what) => Err(PlanError::Engine { what }),
            None => Ok(()),
        }
    }

    /// Refuses groupings that the route does not take. vLLM's and evalscope's data sets are grouped
    /// already.
    fn check_grouping(&self) -> Result<(), PlanError> {
        let backend = self.backend;
        match (self.workload.grouping, backend.route()) {
            (Grouping::Single, _) if self.speaks_vllm() || self.speaks_evalscope() => Ok(()),
            (Grouping::Ranking { .. }, Route::RERANK) => Ok(()),
            (_, Route::RERANK) => Err(PlanError::NeedsDocuments { backend }),
            (Grouping::Single, _) | (Grouping::Texts(_), Route::EMBEDDINGS) => Ok(()),
            _ => Err(PlanError::OneAtATime { backend }),
        }
    }

    /// Refuses pictures on a route that takes none, and in the wrong prompt format: a chat route
    /// renders the text itself, and `/generate` takes it rendered.
    fn check_pictures(&self, form: PromptFormat) -> Result<(), PlanError> {
        let backend = self.backend;
        let expected = match backend.route() {
            Route::CHAT => PromptFormat::Raw,
            Route::GENERATE => PromptFormat::ChatTemplate,
            _ => return Err(PlanError::NoImages { backend }),
        };
        if form == expected { Ok(()) } else { Err(PlanError::ImagePrompt { backend, expected }) }
    }
}

/// Returns the name of the first thing that is requested.
fn requested<const N: usize>(refused: [(bool, &'static str); N]) -> Option<&'static str> {
    refused.into_iter().find_map(|(is_requested, what)| is_requested.then_some(what))
}
