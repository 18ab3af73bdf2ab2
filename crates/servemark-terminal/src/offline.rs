//! A benchmark of an engine, over HTTP or without a server: what is sent before, what is measured, and what vLLM tells.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use servemark::plan::BenchPlan;
use servemark::{
    ExitCode, Run, RunContext, Scores, execute, offline_latency, offline_throughput,
    stay_until_stopped,
};
use servemark_cli::vllm::{Offline, Told};

use crate::{screen, serve};

/// Does what the command asks for. vLLM's text comes first, then the tables.
pub(crate) fn bench(offline: &Offline) -> anyhow::Result<ExitCode> {
    let whole = offline.whole();
    let Some(context) = serve::prepare(&whole)? else { return Ok(ExitCode::Ok) };
    let plan = &whole.plan;
    let run = run(plan, &context)?;
    let (text, document) = told(&run, offline.told)?;
    screen::print(&text);
    let scores = Scores::of_run(&run, &plan.scoring);
    serve::show(&scores)?;
    let kept = offline.output_json.as_ref().map_or(Ok(()), |path| keep(path, &document));
    let code = serve::keep(&run, &scores, &plan.output)?;
    kept?;
    if offline.stays {
        screen::complain("All is done; Ctrl-C or SIGTERM ends the program.");
        stay_until_stopped(&context)?;
    }
    Ok(code)
}

/// The measurement, after what is sent before it. An engine without a server is loaded for both.
pub(crate) fn run(plan: &BenchPlan, context: &RunContext) -> anyhow::Result<Run> {
    let of_server = plan.warm_up.as_deref().filter(|_| plan.server.is_server());
    of_server.map_or(Ok(()), |warm_up| warm(warm_up, context))?;
    Ok(execute(plan, context)?)
}

/// What is not measured. It ends the command if nothing of it succeeds.
fn warm(warm_up: &BenchPlan, context: &RunContext) -> anyhow::Result<()> {
    let requests = warm_up.workload.requests;
    screen::complain(&format!("Warming up with {requests} requests..."));
    let run = execute(warm_up, context)?;
    let first = run.log.measured().find_map(|record| record.outcome.as_ref().err());
    let is_well = run.log.measured().any(servemark::core::RequestRecord::is_success);
    ensure!(is_well, "the warm-up failed: {}", first.map(ToString::to_string).unwrap_or_default());
    Ok(())
}

/// vLLM's text and its document.
fn told(run: &Run, told: Told) -> anyhow::Result<(String, String)> {
    match told {
        Told::Throughput => {
            let throughput = offline_throughput(run);
            Ok((throughput.to_string(), throughput.to_json()))
        }
        Told::Latency(size) => {
            let latency = offline_latency(&run.log, size);
            ensure!(!latency.seconds.is_empty(), "in every batch a request failed");
            Ok((latency.to_string(), latency.to_json()))
        }
        Told::Nothing => Ok((String::new(), String::new())),
    }
}

fn keep(path: &Path, document: &str) -> anyhow::Result<()> {
    fs::write(path, document)
        .with_context(|| format!("cannot write the result to {}", path.display()))
}
