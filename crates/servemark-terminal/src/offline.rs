//! Offline benchmarks of an engine, over HTTP or in-process: the warm-up, the measurement, and
//! vLLM's output.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use servemark::plan::BenchPlan;
use servemark::{
    ExitCode, Run, RunContext, Scores, execute, offline_latency, offline_throughput,
    stay_until_stopped,
};
use servemark_cli::{Offline, OfflineMessages, Parsed};

use crate::report::RunOutput;
use crate::run_screen::{Bars, Screen};
use crate::screen;
use crate::sglang::BenchMessages;
use crate::{context, report, results_folder, rewrite};

/// Runs the benchmark. vLLM's text is printed first, then the tables.
pub(crate) fn bench(offline: &Offline) -> anyhow::Result<ExitCode> {
    results_folder::run_in(&offline.whole(), |whole, folder| bench_in(offline, whole, folder))
}

fn bench_in(offline: &Offline, whole: &Parsed, folder: Option<&Path>) -> anyhow::Result<ExitCode> {
    let Some(mut context) = context::prepare(whole)? else { return Ok(ExitCode::Ok) };
    if let OfflineMessages::Prompts { skipped } = offline.message {
        let screen = Screen::new(Bars::of(whole), Arc::clone(&context.live));
        context.observer = Arc::new(screen.in_words_of(BenchMessages::Offline { skipped }));
    }
    let plan = &whole.plan;
    let run = run(plan, &context)?;
    let (text, document) = vllm_output(&run, offline.message)?;
    screen::print(&text);
    let scores = Scores::of_run(&run, &plan.scoring);
    let kept = offline.output_json.as_ref().map_or(Ok(()), |path| keep(path, &document));
    let kept = rewrite::with_logs(kept, [run.run_log.as_deref()], "--json");
    let shown = RunOutput::tables_of(whole);
    let code = report::show_and_keep(&run, &scores, &plan.output, folder, shown);
    rewrite::both(&code, kept)?;
    let code = code?;
    if offline.stays {
        screen::eprint_line("All is done; Ctrl-C or SIGTERM ends the program.");
        stay_until_stopped(&context)?;
    }
    Ok(code)
}

/// Runs the warm-up and the measurement. An engine is loaded once for both.
pub(crate) fn run(plan: &BenchPlan, context: &RunContext) -> anyhow::Result<Run> {
    let of_server = plan.warm_up.as_deref().filter(|_| plan.server.is_server());
    of_server.map_or(Ok(()), |warm_up| warm(warm_up, context))?;
    Ok(execute(plan, context)?)
}

/// Runs the warm-up, which is not measured. It ends the command if none of its requests succeeds.
fn warm(warm_up: &BenchPlan, context: &RunContext) -> anyhow::Result<()> {
    let requests = warm_up.workload.requests;
    screen::eprint_line(&format!("Warming up with {requests} requests..."));
    let run = execute(warm_up, context)?;
    let first = run.log.measured().find_map(|record| record.outcome.as_ref().err());
    let is_well = run.log.measured().any(servemark::core::RequestRecord::is_success);
    ensure!(is_well, "the warm-up failed: {}", first.map(ToString::to_string).unwrap_or_default());
    Ok(())
}

/// Printed by vLLM before the batches; Servemark prints it after them, with the results.
const WARMING: &str = "Warming up...\n";

/// Returns vLLM's text and its JSON document.
fn vllm_output(run: &Run, reported: OfflineMessages) -> anyhow::Result<(String, String)> {
    match reported {
        OfflineMessages::Throughput => {
            let throughput = offline_throughput(run);
            Ok((throughput.to_string(), throughput.to_json()))
        }
        OfflineMessages::Latency(size) => {
            let latency = offline_latency(&run.log, size);
            ensure!(!latency.seconds.is_empty(), "in every batch a request failed");
            Ok((format!("{WARMING}{latency}"), latency.to_json()))
        }
        OfflineMessages::Nothing | OfflineMessages::Prompts { .. } => {
            Ok((String::new(), String::new()))
        }
        OfflineMessages::Traces => Ok((WARMING.to_owned(), String::new())),
    }
}

fn keep(path: &Path, document: &str) -> anyhow::Result<()> {
    fs::write(path, document)
        .with_context(|| format!("cannot write the result to {}", path.display()))
}
