//! Levels of load between sequential requests and all requests at once.

use anyhow::Context;
use servemark::core::JsonObject;
use servemark_cli::vllm::sweep::{Combination, Workload, WorkloadVariable};

use super::experiment::print_line;
use super::server::Server;

/// Measures both ends, then the levels between their results.
pub(super) fn explore(
    server: &Server<'_>,
    bench: &Combination,
    workload: &Workload,
) -> anyhow::Result<Vec<JsonObject>> {
    let variable = workload.variable.as_str();
    let named = |combination: &Combination| match combination.text(", ") {
        nothing if nothing.is_empty() => "(None)".to_owned(),
        text => text,
    };
    print_line("[WL START]");
    print_line(&format!("Serve parameters: {}", named(server.parameters())));
    print_line(&format!("Bench parameters: {}", named(bench)));
    print_line(&format!("Number of workload iterations: {}", workload.levels));
    let size = dataset_size(server, bench)?;
    print_line(&format!("Dataset size: {size}"));
    let end = |limit: i64| {
        server.combination(&bench.with("max_concurrency", limit), Some((variable, limit)))
    };
    let (serial, batch) = (end(1)?, end(size)?);
    if serial.is_empty() || batch.is_empty() {
        print_line(if server.sweep().experiment.dry_run { OMITTED } else { NO_ENDS });
        print_line("[WL END]");
        return Ok(Vec::new());
    }
    let low = mean(&serial, workload.variable)?.ceil() as i64;
    print_line(&format!("Serial inference: {variable}={low}"));
    let high = mean(&batch, workload.variable)?.floor() as i64;
    print_line(&format!("Batch inference: {variable}={high}"));
    let mut rows = serial;
    for level in workload.between(low, high) {
        print_line(&format!("Exploring: {variable}={level}"));
        rows.extend(server.combination(bench, Some((variable, level)))?);
    }
    print_line("[WL END]");
    rows.extend(batch);
    Ok(rows)
}

/// Returns the number of prompts of a run.
fn dataset_size(server: &Server<'_>, bench: &Combination) -> anyhow::Result<i64> {
    let own = bench.parameters().get("num_prompts");
    let own = own.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let command = &server.sweep().bench;
    let of_command = || {
        command.iter().enumerate().find_map(|(index, word)| match word.strip_prefix(PROMPTS)? {
            "" => command.get(index + 1).cloned(),
            attached => attached.strip_prefix('=').map(str::to_owned),
        })
    };
    match own.or_else(of_command) {
        None => Ok(DEFAULT_PROMPTS),
        Some(text) => text.parse().with_context(|| format!("{PROMPTS} {text} is no number")),
    }
}

/// Returns the mean result of the runs of a level.
fn mean(runs: &[JsonObject], variable: WorkloadVariable) -> anyhow::Result<f64> {
    let values = runs.iter().map(|run| came_to(run, variable));
    let values = values.collect::<anyhow::Result<Vec<f64>>>()?;
    Ok(values.iter().sum::<f64>() / values.len() as f64)
}

fn came_to(run: &JsonObject, variable: WorkloadVariable) -> anyhow::Result<f64> {
    let number = |key: &str| {
        run.get(key)
            .and_then(serde_json::Value::as_f64)
            .with_context(|| format!("a result has no {key}"))
    };
    let throughput = number("request_throughput")?;
    Ok(match variable {
        WorkloadVariable::MaxConcurrency => throughput * number("mean_e2el_ms")? / 1000.0,
        WorkloadVariable::RequestRate => throughput,
    })
}

const PROMPTS: &str = "--num-prompts";
const DEFAULT_PROMPTS: i64 = 1000;
const OMITTED: &str = "Omitting intermediate Workload iterations.";
const NO_ENDS: &str =
    "Unable to establish both Workload Explorer endpoints; skipping intermediate workload levels.";
