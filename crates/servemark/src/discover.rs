//! What the plan leaves to the server to say: which model, and which tokenizer.

use std::path::Path;

use servemark_client::ServedModel;
use servemark_core::{NoTokenizer, Tokenizer, TokenizerError};
use servemark_datasets::DatasetSpec;
use servemark_plan::BenchPlan;
use servemark_tokenizer::{HfTokenizer, TokenizerSpec};

use crate::audience::News;
use crate::server::Server;
use crate::{ExecuteError, RunContext};

/// The names that a run goes by.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// The model's own name.
    pub(crate) model: String,
    /// What requests call the model.
    pub(crate) served: String,
    /// Where its tokenizer is.
    pub(crate) tokenizer: TokenizerSource,
}

/// Where a tokenizer is.
#[derive(Clone, Debug)]
pub(crate) enum TokenizerSource {
    /// In this program, for the simulator.
    Bundled,
    /// Wherever this points.
    At(TokenizerSpec),
    /// Nowhere: the run does without.
    Nowhere,
}

impl TokenizerSource {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Bundled => "bundled".to_owned(),
            Self::At(spec) => spec.source().to_owned(),
            Self::Nowhere => String::new(),
        }
    }
}

/// The names that a run of an engine goes by. Without any, the engine is one that needs no model.
#[cfg(feature = "engine")]
pub(crate) fn of_engine(plan: &BenchPlan) -> Names {
    let model = plan.model.name.clone();
    let tokenizer = match (&plan.model.tokenizer, &model) {
        _ if plan.model.untokenized => TokenizerSource::Nowhere,
        (Some(spec), _) => TokenizerSource::At(spec.clone()),
        (None, Some(model)) => TokenizerSource::At(TokenizerSpec::new(model)),
        (None, None) => TokenizerSource::Bundled,
    };
    let model = model.unwrap_or_default();
    Names {
        served: plan.model.served_name.clone().unwrap_or_else(|| model.clone()),
        model,
        tokenizer,
    }
}

/// Asks the server for what the plan does not name.
pub(crate) async fn names(
    plan: &BenchPlan,
    context: &RunContext,
    server: &Server,
) -> Result<Names, ExecuteError> {
    let found = match &plan.model.name {
        Some(name) => ServedName { model: name.clone(), served: name.clone() },
        None => first_model(plan, context, server).await?,
    };
    let tokenizer = tokenizer_source(plan, server, &found.model).await;
    let served = plan.model.served_name.clone().unwrap_or(found.served);
    Ok(Names { model: found.model, served, tokenizer })
}

/// Loads the tokenizer, as far as a data set needs it. Answers are counted after the run, which is
/// when the rest is loaded.
pub(crate) fn tokenizer(
    source: &TokenizerSource,
    dataset: &DatasetSpec,
) -> Result<Box<dyn Tokenizer>, TokenizerError> {
    Ok(Box::new(match source {
        TokenizerSource::Bundled => HfTokenizer::from_json(BUNDLED)?,
        TokenizerSource::At(spec) if dataset.only_decodes() => spec.load_to_decode()?,
        TokenizerSource::At(spec) => spec.load()?,
        TokenizerSource::Nowhere => return Ok(Box::new(NoTokenizer)),
    }))
}

/// A model and what requests call it.
struct ServedName {
    model: String,
    served: String,
}

/// vLLM's client takes the model to be what the server made its first one of.
async fn first_model(
    plan: &BenchPlan,
    context: &RunContext,
    server: &Server,
) -> Result<ServedName, ExecuteError> {
    context.tell(&News::AskingForModel);
    let models = server.control.served_models().await.map_err(ExecuteError::NotReady)?;
    let Some(ServedModel { id: served, root, .. }) = models.into_iter().next() else {
        return Err(ExecuteError::NoModel { url: server.url() });
    };
    let root = root.filter(|_| plan.speaks_vllm());
    let model = root.unwrap_or_else(|| served.clone());
    context.tell(&News::ModelFound { name: &served, root: &model });
    Ok(ServedName { model, served })
}

/// The plan's word, else the simulator's, else an SGLang server's own if it is a folder here too,
/// else the model's name. vLLM's servers are not asked: they have nothing to say of it.
async fn tokenizer_source(plan: &BenchPlan, server: &Server, model: &str) -> TokenizerSource {
    if plan.model.untokenized {
        return TokenizerSource::Nowhere;
    }
    if let Some(spec) = &plan.model.tokenizer {
        return TokenizerSource::At(spec.clone());
    }
    if server.is_simulated() {
        return TokenizerSource::Bundled;
    }
    if plan.speaks_vllm() {
        return TokenizerSource::At(TokenizerSpec::new(model));
    }
    let info = server.control.model_info().await.ok();
    let told = info.as_ref().and_then(|info| info.tokenizer());
    let name = told.filter(|name| Path::new(name).exists()).unwrap_or(model);
    TokenizerSource::At(TokenizerSpec::new(name))
}

/// The smallest real tokenizer of the fixtures: the simulator's words need no better one.
const BUNDLED: &str =
    include_str!("../../../fixtures/tokenizers/spm-unigram-botchan-1000/tokenizer.json");
