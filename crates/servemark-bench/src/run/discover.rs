//! Finds the model and the tokenizer if the plan does not name them.

use std::path::Path;

use servemark_client::ServedModel;
use servemark_plan::BenchPlan;
use servemark_tokenizer::TokenizerSpec;

use crate::observer::RunEvent;
use crate::run::server::Server;
use crate::{ExecuteError, RunContext};

/// Names of the model and of its tokenizer.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// Name of the model itself.
    pub(crate) model: String,
    /// Name of the model in requests.
    pub(crate) served: String,
    /// Location of the model's tokenizer.
    pub(crate) tokenizer: TokenizerSource,
}

/// Location of a tokenizer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum TokenizerSource {
    /// The tokenizer built into this program, used for the simulator.
    Bundled,
    /// A tokenizer on disk or on the hub.
    At(TokenizerSpec),
    /// The run uses no tokenizer.
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

/// Returns the names of a run without a server, which are those of its plan. A plan without a model
/// name uses the bundled tokenizer.
pub(crate) fn of_plan(plan: &BenchPlan) -> Names {
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

/// Returns the names of a run; asks the server for those that the plan does not set.
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

/// Name of a model and its name in requests.
struct ServedName {
    model: String,
    served: String,
}

/// Returns the first model that the server lists. Like vLLM's client, takes the model's `root` as
/// its name if the plan is in vLLM's dialect.
async fn first_model(
    plan: &BenchPlan,
    context: &RunContext,
    server: &Server,
) -> Result<ServedName, ExecuteError> {
    context.emit(&RunEvent::AskingForModel);
    let models = server.control.served_models().await.map_err(ExecuteError::NotReady)?;
    let Some(ServedModel { id: served, root, .. }) = models.into_iter().next() else {
        return Err(ExecuteError::NoModel { url: server.url() });
    };
    let root = root.filter(|_| plan.speaks_vllm());
    let model = root.unwrap_or_else(|| served.clone());
    context.emit(&RunEvent::ModelFound { name: &served, root: &model });
    Ok(ServedName { model, served })
}

/// Returns the tokenizer of the plan; otherwise the simulator's; otherwise the one that an SGLang
/// server reports, if that path exists on this machine; otherwise the one of the model's name. A
/// vLLM server is not asked, because it does not report its tokenizer.
async fn tokenizer_source(plan: &BenchPlan, server: &Server, model: &str) -> TokenizerSource {
    if plan.model.untokenized {
        return TokenizerSource::Nowhere;
    }
    if let Some(spec) = &plan.model.tokenizer {
        return TokenizerSource::At(spec.clone());
    }
    if server.is_simulated() || plan.model.bundled_tokenizer {
        return TokenizerSource::Bundled;
    }
    if plan.speaks_vllm() {
        return TokenizerSource::At(TokenizerSpec::new(model));
    }
    let info = server.control.model_info().await.ok();
    let server_tokenizer = info.as_ref().and_then(|info| info.tokenizer());
    let name = server_tokenizer.filter(|name| Path::new(name).exists()).unwrap_or(model);
    TokenizerSource::At(TokenizerSpec::new(name))
}
