//! Converts the flags of tables and files, and collects the entries of the result file about the
//! command line.

use serde_json::{Value, json};
use servemark_core::JsonObject;
use servemark_metrics::{ConcurrencyRatio, PlateauSpec, Slo};
use servemark_plan::{Layout, OutputSpec, ScoringSpec};
use servemark_pyjson as pyjson;
use servemark_report::VllmOptions;

use super::args::{ExtrasArgs, OutputArgs, VllmArgs};
use super::files;
use crate::argparse::ParsedCommandLine;
use crate::environment::Environment;
use crate::error::CliError;
use crate::number::{percentiles, refused};
use crate::python;

/// Returns how the run is scored: tables, percentiles and goodput.
pub(super) fn scoring(args: &VllmArgs) -> Result<ScoringSpec, CliError> {
    let mut scoring = args.run.judging.scoring(Layout::Vllm)?;
    scoring.slos = slos(&args.output)?;
    scoring.vllm = options(args)?;
    scoring.plateau = plateau(&args.extras)?;
    Ok(scoring)
}

/// Returns the options of the table and the result. An empty list of metrics means the default, as
/// with vLLM.
fn options(args: &VllmArgs) -> Result<VllmOptions, CliError> {
    let metrics = args.output.percentile_metrics.as_deref().filter(|metrics| !metrics.is_empty());
    let mut options = VllmOptions::default().with_percentiles(percentiles(
        OutputArgs::METRIC_PERCENTILES,
        &args.output.metric_percentiles,
    )?);
    if let Some(metrics) = metrics {
        options = options.with_metrics(metrics.split(','));
    }
    options.style = args.style.style.unwrap_or_default();
    Ok(if args.target.skip_tokenizer_init { options.without_tokens() } else { options })
}

fn plateau(args: &ExtrasArgs) -> Result<Option<PlateauSpec>, CliError> {
    let is_requested =
        args.steady_state_threshold.is_some() || args.steady_state_min_window.is_some();
    if args.no_steady_state || !is_requested {
        return Ok(None);
    }
    let mut spec = PlateauSpec::default();
    if let Some(share) = args.steady_state_threshold {
        spec.threshold = ConcurrencyRatio::new(share)
            .map_err(|error| CliError::setting(ExtrasArgs::STEADY_STATE_THRESHOLD, error))?;
    }
    spec.least_s = args.steady_state_min_window;
    Ok(Some(spec))
}

/// Returns the output files.
pub(super) fn output(
    args: &VllmArgs,
    given: &ParsedCommandLine,
    environment: &Environment,
) -> Result<OutputSpec, CliError> {
    let mut output = OutputSpec::default();
    args.run.keep_log(&args.target.backend, environment.now(), &mut output)?;
    output.steady_state_file = args.run.steady_state_output_file.as_ref().map(Into::into);
    output.vllm = files::files(args, given, environment)?;
    Ok(output)
}

/// Returns the entries of the result file about the command line, in vLLM's order. Entries that are
/// `null` are filled in from the run.
pub(super) fn echo(args: &VllmArgs) -> Result<JsonObject, CliError> {
    let mut echo = JsonObject::new();
    let mut add = |key: &str, value: Value| echo.insert(key.to_owned(), value);
    add("date", Value::Null);
    add("endpoint_type", json!(args.target.backend));
    add("backend", json!(args.target.backend));
    add("label", json!(args.output.label));
    add("model_id", json!(args.target.model));
    let tokenizer = args.target.tokenizer.as_ref().filter(|_| !args.target.skip_tokenizer_init);
    add("tokenizer_id", json!(tokenizer));
    add("num_prompts", json!(args.dataset.num_prompts));
    for item in args.output.metadata.iter().flatten() {
        let malformed = "Invalid metadata format. Please use KEY=VALUE format.";
        let (key, value) = item.split_once('=').ok_or(CliError::Together(malformed))?;
        add(key.trim(), json!(value.trim()));
    }
    add("request_rate", rate(args.load.request_rate));
    add("burstiness", rate(args.load.burstiness));
    add("max_concurrency", json!(args.load.max_concurrency));
    if let Some(strategy) = &args.load.ramp_up_strategy {
        add("ramp_up_strategy", json!(strategy));
        add("ramp_up_start_rps", json!(args.load.ramp_up_start_rps));
        add("ramp_up_end_rps", json!(args.load.ramp_up_end_rps));
    }
    Ok(echo)
}

/// Returns a request rate, or the text `inf` for an infinite one, as vLLM writes it. An infinite
/// burstiness is written as Python's `Infinity` instead.
fn rate(rate: f64) -> Value {
    if rate == f64::INFINITY { json!("inf") } else { json!(rate) }
}

/// Returns the limits of goodput. A metric given twice keeps its first position and has its last
/// limit.
fn slos(args: &OutputArgs) -> Result<Vec<Slo>, CliError> {
    args.goodput.iter().flatten().map(|pair| slo(pair)).collect()
}

fn slo(pair: &str) -> Result<Slo, CliError> {
    let (name, limit) = pair.split_once(':').ok_or(CliError::Together(BAD_GOODPUT))?;
    let limit_ms = python::float(limit).map_err(|_| CliError::Together(BAD_GOODPUT))?;
    let rendered = pyjson::repr(limit_ms);
    let metric = Slo::metric(name).ok_or_else(|| {
        CliError::Peer(format!(
            "Invalid metric name found, {name}: {rendered}. The service level objective name should \
             be one of ['ttft', 'tpot', 'e2el']. "
        ))
    })?;
    if limit_ms < 0.0 {
        return Err(CliError::Peer(format!(
            "Invalid value found, {name}: {rendered}. The service level objective value should be \
             non-negative."
        )));
    }
    // Every request meets an infinite limit, and so it meets the largest finite one.
    Slo::new(metric, limit_ms.min(f64::MAX)).map_err(refused(OutputArgs::GOODPUT))
}

const BAD_GOODPUT: &str = "Invalid format found for service level objectives. Specify service \
                           level objectives for goodput as \"KEY:VALUE\" pairs, where the key is a \
                           metric name, and the value is a number in milliseconds.";
