//! What is made of the run, where it goes, and what the result repeats.

use std::path::PathBuf;

use serde_json::json;
use servemark_backends::BackendName;
use servemark_core::JsonObject;
use servemark_metrics::ConcurrencyRatio;
use servemark_plan::{OutputSpec, ScoringSpec};
use servemark_report::ResultFileName;

use super::args::{OwnArgs, SglangArgs};
use super::control::object;
use super::dataset;
use super::number::at_least;
use crate::environment::{Environment, LocalTime};
use crate::error::CliError;

/// The tables and what counts as good.
pub(super) fn scoring(args: &SglangArgs) -> Result<ScoringSpec, CliError> {
    let mut scoring = ScoringSpec::default();
    scoring.slos = args.output.goodput.clone().unwrap_or_default();
    scoring.layouts.clone_from(&args.own.layout);
    scoring.cache_report = args.output.cache_report;
    scoring.print_requests = args.output.print_requests;
    scoring.plots = args.output.plot_throughput;
    scoring.fail_on = args.own.fail_on_verdict;
    let ratio = args.own.steady_state_concurrency_ratio.map(ConcurrencyRatio::new).transpose();
    scoring.steady_state =
        ratio.map_err(|error| CliError::setting("--steady-state-concurrency-ratio", error))?;
    if let Some(share) = args.own.tolerate_failures {
        if !(0.0..=1.0).contains(&share) {
            let why = format!("must lie in 0 to 1, not {share}");
            return Err(CliError::setting("--tolerate-failures", why));
        }
        scoring.tolerated_failures = share;
    }
    Ok(scoring)
}

/// The files.
pub(super) fn output(
    args: &SglangArgs,
    backend: BackendName,
    environment: &Environment,
) -> Result<OutputSpec, CliError> {
    let mut output = OutputSpec::default();
    output.run_log = run_log(&args.own, backend, environment.now())?;
    output.result_file = Some(match &args.output.output_file {
        Some(path) => path.into(),
        None => result_file(args, environment.now())?,
    });
    output.details = args.output.output_details;
    output.steady_state_file = args.own.steady_state_output_file.as_ref().map(Into::into);
    Ok(output)
}

/// What the result line repeats of the command line, in SGLang's order. An infinite rate is null:
/// JSON has no word for it. Where timestamps were asked for, it is `trace`.
pub(super) fn echo(args: &SglangArgs) -> JsonObject {
    let SglangArgs { dataset, trace, load, .. } = args;
    let rate = if trace.use_trace_timestamps { json!("trace") } else { json!(load.request_rate) };
    object([
        ("tag", json!(args.output.tag)),
        ("backend", json!(args.target.backend)),
        ("dataset_name", json!(dataset.dataset_name)),
        ("request_rate", rate),
        ("max_concurrency", json!(load.max_concurrency)),
        ("sharegpt_output_len", json!(dataset.sharegpt_output_len)),
        ("random_input_len", json!(dataset.random_input_len)),
        ("random_output_len", json!(dataset.random_output_len)),
        ("random_range_ratio", json!(dataset.random_range_ratio)),
    ])
}

fn run_log(
    args: &OwnArgs,
    backend: BackendName,
    now: LocalTime,
) -> Result<Option<PathBuf>, CliError> {
    match (&args.run_log, args.no_run_log) {
        (Some(_), true) => {
            let [flag, other] = ["--no-run-log", "--run-log"].map(str::to_owned);
            Err(CliError::Conflict { flag, other })
        }
        (Some(path), false) => Ok(Some(path.into())),
        (None, true) => Ok(None),
        (None, false) => Ok(Some(run_log_name(backend, now).into())),
    }
}

fn run_log_name(backend: BackendName, now: LocalTime) -> String {
    let [date, time] = now.digits();
    format!("servemark_{backend}_{date}_{time}.runlog.jsonl")
}

fn result_file(args: &SglangArgs, now: LocalTime) -> Result<PathBuf, CliError> {
    let dataset = &args.dataset;
    let prompts = dataset::prompts(dataset)?;
    let input = at_least("--random-input-len", 0, dataset.random_input_len)?;
    let output = at_least("--random-output-len", 0, dataset.random_output_len)?;
    let images = at_least("--image-count", 1, dataset.image_count)?;
    let name = ResultFileName::new(&args.target.backend, &dataset.dataset_name, prompts)
        .with_lengths(input, output)
        .with_images(images, &dataset.image_resolution);
    let (_, month, day) = now.date;
    Ok(name.on(month, day).into())
}
