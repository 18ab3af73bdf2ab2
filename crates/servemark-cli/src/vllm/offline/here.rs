//! Puts an engine in the place of the server of a plan.

use serde_json::json;
use servemark_core::JsonObject;
use servemark_engine::{
    EngineRunSpec, EngineSpec, PromptForm, Submission, WorkerEngine, WorkerSpec,
};
use servemark_plan::ServerSpec;
use servemark_runner::WarmupSpec;

use super::line::{Callee, Calls, MODEL, object};
use crate::error::CliError;
use crate::offline::Offline;
use crate::own::WorkerArgs;
use crate::parsed::Parsed;

/// Replaces the server of an offline benchmark by the engine.
pub(super) fn with_engine(
    mut offline: Offline,
    args: &WorkerArgs,
    python: Option<&str>,
    calls: &Calls,
) -> Result<Offline, CliError> {
    for parsed in offline.warm_up.iter_mut().chain([&mut offline.run]) {
        put(parsed, args, python, calls)?;
    }
    Ok(offline)
}

/// Replaces the server of a plan by an engine. The engine gets texts or conversations and the
/// sampling parameters as from vLLM's own command.
fn put(
    parsed: &mut Parsed,
    args: &WorkerArgs,
    python: Option<&str>,
    calls: &Calls,
) -> Result<(), CliError> {
    let plan = &mut parsed.plan;
    let mut worker = WorkerSpec::new(calls.callee.engine(), args.interpreter(python));
    worker.argv.clone_from(&calls.argv);
    worker.args.clone_from(&calls.args);
    worker.call.clone_from(&calls.call);
    args.keep_log(&plan.output, &mut worker);
    let mut spec = EngineRunSpec::new(EngineSpec::Worker(Box::new(worker)));
    spec.submission = if calls.streams { Submission::OneByOne } else { Submission::AtOnce };
    spec.sampling.temperature = 1.0;
    // vLLM lets Transformers' outputs end where the model ends them.
    spec.sampling.ignore_eos = calls.callee != Callee::Transformers;
    spec.sampling.extra = object([("n", json!(calls.n)), ("top_p", json!(1.0))]);
    spec.prompts = calls.callee.prompts();
    spec.patience = args.patience()?;
    plan.server = ServerSpec::Engine(spec);
    plan.model.name.get_or_insert_with(|| MODEL.to_owned());
    // The served name is the model's name in requests to a server, and none are sent.
    plan.model.served_name = None;
    plan.load.warmup = WarmupSpec::of(0);
    plan.echo = JsonObject::new();
    plan.check().map_err(CliError::Plan)
}

impl Callee {
    fn engine(self) -> WorkerEngine {
        match self {
            Self::Vllm | Self::VllmChat => WorkerEngine::Vllm,
            Self::Transformers => WorkerEngine::Transformers,
        }
    }

    fn prompts(self) -> PromptForm {
        match self {
            Self::Vllm | Self::Transformers => PromptForm::Text,
            Self::VllmChat => PromptForm::Chat,
        }
    }
}
