//! An engine in the place of a server.

use serde_json::{Value, json};
use servemark_core::JsonObject;
use servemark_engine::{EngineRunSpec, EngineSpec, Submission, WorkerEngine, WorkerSpec};
use servemark_plan::ServerSpec;
use servemark_runner::WarmupSpec;

use super::{Calls, MODEL};
use crate::Parsed;
use crate::error::CliError;
use crate::own::WorkerArgs;

/// Puts vLLM's engine into a plan. It is given what vLLM's own command gives it: texts where those
/// are drawn, and the same parameters of sampling.
pub(super) fn put(
    parsed: &mut Parsed,
    args: &WorkerArgs,
    python: Option<&str>,
    calls: &Calls,
) -> Result<(), CliError> {
    let plan = &mut parsed.plan;
    let mut worker = WorkerSpec::new(WorkerEngine::Vllm, args.interpreter(python));
    worker.argv.clone_from(&calls.argv);
    worker.call.clone_from(&calls.call);
    worker.log = args.log(&plan.output);
    let mut spec = EngineRunSpec::new(EngineSpec::Worker(Box::new(worker)));
    spec.submission = if calls.streams { Submission::OneByOne } else { Submission::AtOnce };
    spec.sampling.temperature = 1.0;
    spec.sampling.extra =
        [("n", json!(calls.n)), ("top_p", json!(1.0))].map(named).into_iter().collect();
    spec.texts = true;
    spec.patience = args.patience()?;
    plan.server = ServerSpec::Engine(spec);
    plan.model.name.get_or_insert_with(|| MODEL.to_owned());
    // That is what a server's requests go by.
    plan.model.served_name = None;
    plan.load.warmup = WarmupSpec::of(0);
    plan.echo = JsonObject::new();
    plan.check().map_err(CliError::Plan)
}

fn named((key, value): (&str, Value)) -> (String, Value) {
    (key.to_owned(), value)
}
