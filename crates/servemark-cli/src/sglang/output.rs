//! Turns the flags into the scoring, the output files, and the settings that the result repeats.

use std::path::PathBuf;

use serde_json::json;
use servemark_backends::BackendName;
use servemark_core::JsonObject;
use servemark_plan::{Layout, OutputSpec, ScoringSpec};
use servemark_report::{ResultFileName, SglangStyle};

use super::args::{DatasetArgs, SglangArgs};
use super::control::object;
use super::dataset;
use crate::environment::{Environment, LocalTime};
use crate::error::CliError;
use crate::number::at_least;

/// Returns the tables to print, and the objectives that a good request meets.
pub(super) fn scoring(args: &SglangArgs) -> Result<ScoringSpec, CliError> {
    let mut scoring = args.run.judging.scoring(Layout::Sglang)?;
    scoring.slos = args.output.goodput.clone().unwrap_or_default();
    scoring.sglang_style = args.style.style.unwrap_or_default();
    scoring.cache_report = args.output.cache_report;
    scoring.print_requests = args.output.print_requests;
    scoring.plots = args.output.plot_throughput;
    Ok(scoring)
}

/// Returns the output files: the run log, the result and the steady part of the run.
pub(super) fn output(
    args: &SglangArgs,
    backend: BackendName,
    environment: &Environment,
) -> Result<OutputSpec, CliError> {
    let mut output = OutputSpec::default();
    args.run.keep_log(backend.as_str(), environment.now(), &mut output)?;
    output.result_file = Some(match &args.output.output_file {
        Some(path) => path.into(),
        None => result_file(args, environment.now())?,
    });
    output.details = args.output.output_details;
    output.steady_state_file = args.run.steady_state_output_file.as_ref().map(Into::into);
    Ok(output)
}

/// Returns what the result line repeats of the command line, in SGLang's order. An infinite rate is
/// `null`, because JSON has no infinity. With `--use-trace-timestamps` the rate is `trace`.
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

fn result_file(args: &SglangArgs, now: LocalTime) -> Result<PathBuf, CliError> {
    let dataset = &args.dataset;
    let prompts = dataset::prompts(dataset)?;
    // In file names SGLang 0.5.1 calls every data set that is not random `sharegpt`.
    let is_first = args.style.style == Some(SglangStyle::V0_5_1);
    let is_random = dataset.dataset_name.starts_with("random");
    let label = if is_first && !is_random { "sharegpt" } else { &dataset.dataset_name };
    let mut name = ResultFileName::new(&args.target.backend, label, prompts);
    // Lengths and pictures are checked only if the data set uses them.
    let has_images = dataset.dataset_name == "image";
    if has_images || is_random {
        let input = at_least(DatasetArgs::RANDOM_INPUT_LEN, 0, dataset.random_input_len)?;
        let output = at_least(DatasetArgs::RANDOM_OUTPUT_LEN, 0, dataset.random_output_len)?;
        name = name.with_lengths(input, output);
    }
    if has_images {
        let images = at_least(DatasetArgs::IMAGE_COUNT, 1, dataset.image_count)?;
        name = name.with_images(images, &dataset.image_resolution);
    }
    let (_, month, day) = now.date;
    Ok(name.on(month, day).into())
}
