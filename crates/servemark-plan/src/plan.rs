//! The plan and what it sends.

use serde::{Deserialize, Serialize};
use servemark_backends::{BackendName, BackendSpec, Route};
use servemark_client::BaseUrl;
use servemark_core::JsonObject;
use servemark_datasets::{DatasetSpec, Grouping, PromptFormat};
#[cfg(feature = "engine")]
use servemark_engine::Submission;
use servemark_runner::LoadSpec;
use servemark_tokenizer::TokenizerSpec;

use crate::{ControlSpec, OutputSpec, PlanError, ScoringSpec, ServerSpec};

/// A whole benchmark run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct BenchPlan {
    /// Who is asked.
    pub server: ServerSpec,
    /// What is asked of it besides answers.
    pub control: ControlSpec,
    /// The server's habits, by name.
    pub backend: BackendName,
    /// How its route is spoken.
    pub wire: BackendSpec,
    /// Which model.
    pub model: ModelSpec,
    /// What is sent.
    pub workload: WorkloadSpec,
    /// When it is sent.
    pub load: LoadSpec,
    /// What is run before it and told of by nobody, where that is a plan of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<Box<Self>>,
    /// What is made of it.
    pub scoring: ScoringSpec,
    /// Where that goes.
    pub output: OutputSpec,
    /// What a peer's result file repeats of its command line, in the peer's order.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub echo: JsonObject,
}

/// Which model, by the names that its users have for it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ModelSpec {
    /// The model; the first that the server lists where none is given.
    pub name: Option<String>,
    /// The name that requests carry; the model's own where none is given.
    pub served_name: Option<String>,
    /// Where the tokenizer is; where none is given, what the server says of itself, else the
    /// model's name.
    pub tokenizer: Option<TokenizerSpec>,
    /// Whether the tokenizer is Mistral's own file, `tekken.json`, whatever lies beside it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mistral_tokenizer: bool,
    /// Whether the run does without a tokenizer. Prompts are token ids then, or texts that count for
    /// one token each, and outputs are counted by the server alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub untokenized: bool,
}

/// What is sent.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct WorkloadSpec {
    /// Where samples come from.
    pub dataset: DatasetSpec,
    /// How many requests are sent at most.
    pub requests: usize,
    /// How what is drawn is put together into requests.
    #[serde(default, skip_serializing_if = "Grouping::is_single")]
    pub grouping: Grouping,
    /// The seed of every draw.
    pub seed: u32,
    /// A few letters that every session's first prompt begins with, so that the server has it in
    /// no cache; they count as part of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_salt: Option<String>,
    /// Runs that drew before this one from the same generators, in their order: this one's draws
    /// follow theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<EarlierSpec>,
}

/// What an earlier run drew.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct EarlierSpec {
    /// Where its samples came from.
    pub dataset: DatasetSpec,
    /// How many requests it had at most.
    pub requests: usize,
    /// When they were sent.
    pub load: LoadSpec,
}

impl EarlierSpec {
    /// What a plan draws.
    pub fn of(plan: &BenchPlan) -> Self {
        let WorkloadSpec { dataset, requests, .. } = &plan.workload;
        Self { dataset: dataset.clone(), requests: *requests, load: plan.load.clone() }
    }
}

impl WorkloadSpec {
    /// So many samples of a data set, drawn with SGLang's default seed.
    pub fn new(dataset: DatasetSpec, requests: usize) -> Self {
        Self {
            dataset,
            requests,
            grouping: Grouping::Single,
            seed: 42,
            prompt_salt: None,
            after: Vec::new(),
        }
    }
}

impl BenchPlan {
    /// A plan with the usual settings for all that is not given.
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

    /// The plan as a document, as the run log's header holds it. Its `{:#}` is for a person.
    ///
    /// # Panics
    ///
    /// Never: a plan is plain data.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a plan is plain data")
    }

    /// Lets the server at another address be asked, by the warm-up as well. Says whether the plan asks a
    /// server at an address; one that does not stays as it is.
    pub fn move_to(&mut self, url: &BaseUrl) -> bool {
        let ServerSpec::At(target) = &mut self.server else { return false };
        target.base_url = url.clone();
        self.warm_up.as_mut().is_none_or(|warm_up| warm_up.move_to(url))
    }

    /// Whether vLLM's client is spoken for.
    pub fn speaks_vllm(&self) -> bool {
        matches!(self.wire, BackendSpec::Vllm(_))
    }

    /// Whether evalscope's client is spoken for.
    pub fn speaks_evalscope(&self) -> bool {
        matches!(self.wire, BackendSpec::Evalscope(_))
    }

    /// The name of what is spoken, by the dialect that is spoken.
    pub fn speaks(&self) -> &'static str {
        match &self.wire {
            BackendSpec::Vllm(spec) => spec.dialect.as_str(),
            BackendSpec::Evalscope(spec) => spec.api.as_str(),
            BackendSpec::Aisbench(spec) => spec.class.as_str(),
            _ => self.backend.as_str(),
        }
    }

    /// Refuses what cannot run, before anything is opened or sent.
    pub fn check(&self) -> Result<(), PlanError> {
        self.warm_up.as_ref().map_or(Ok(()), |warm_up| warm_up.check())?;
        if self.workload.requests == 0 && !self.workload.dataset.zero_means_all() {
            return Err(PlanError::NoRequests);
        }
        let (dataset, backend) = (&self.workload.dataset, self.backend);
        let name = dataset.name();
        if self.load.arrivals.is_trace() && !dataset.has_timestamps() {
            return Err(PlanError::NoTimestamps { dataset: name });
        }
        if self.load.in_rounds && self.load.lasts.is_none() {
            return Err(PlanError::Endless);
        }
        self.check_precision()?;
        #[cfg(feature = "engine")]
        self.check_engine()?;
        self.check_grouping()?;
        if let Some(form) = dataset.pictured() {
            return self.check_pictures(form);
        }
        if dataset.is_conversation() && !self.wire.takes_messages() {
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
            #[cfg(feature = "engine")]
            ServerSpec::Engine(_) => Err(PlanError::Engine { what: "--precise-send" }),
        }
    }

    /// An engine is given requests as they are, and all at once where it wants them so.
    #[cfg(feature = "engine")]
    fn check_engine(&self) -> Result<(), PlanError> {
        let ServerSpec::Engine(spec) = &self.server else { return Ok(()) };
        let at_once = spec.submission == Submission::AtOnce;
        let is_limited = self.load.max_concurrency.is_some() && !self.load.in_waves;
        let refused = [
            (
                at_once && !self.load.arrivals.is_burst(),
                "--request-rate where it is given all at once",
            ),
            (at_once && is_limited, "--max-concurrency where it is given all at once"),
            (self.load.probes.is_some(), "probes beside the load"),
            (self.scoring.until.is_some(), "--until"),
            (self.load.adapters.is_some() && !spec.engine.has_adapters(), "--lora-name"),
            (self.workload.dataset.pictured().is_some(), "pictures"),
            (self.control.flush_cache.is_some(), "--flush-cache"),
        ];
        match refused.into_iter().find(|(is_asked, _)| *is_asked) {
            Some((_, what)) => Err(PlanError::Engine { what }),
            None => Ok(()),
        }
    }

    /// vLLM's and evalscope's data sets come in groups already.
    fn check_grouping(&self) -> Result<(), PlanError> {
        let backend = self.backend;
        match (self.workload.grouping, backend.route()) {
            (Grouping::Single, _) if self.speaks_vllm() || self.speaks_evalscope() => Ok(()),
            (Grouping::Ranking { .. }, Route::Rerank) => Ok(()),
            (_, Route::Rerank) => Err(PlanError::NeedsDocuments { backend }),
            (Grouping::Single, _) | (Grouping::Texts(_), Route::Embeddings) => Ok(()),
            _ => Err(PlanError::OneAtATime { backend }),
        }
    }

    /// A route for chats renders the text itself, and `/generate` takes it rendered.
    fn check_pictures(&self, form: PromptFormat) -> Result<(), PlanError> {
        let backend = self.backend;
        let expected = match backend.route() {
            Route::Chat => PromptFormat::Raw,
            Route::Generate => PromptFormat::ChatTemplate,
            _ => return Err(PlanError::NoImages { backend }),
        };
        if form == expected { Ok(()) } else { Err(PlanError::ImagePrompt { backend, expected }) }
    }
}
