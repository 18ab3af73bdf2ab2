//! Converts the flags of the wire dialect and the request body.

use serde_json::{Value, json};
use servemark_backends::{BackendSpec, CommonSpec, VllmDialect, VllmSpec};
use servemark_core::JsonObject;

use super::args::{RequestArgs, TargetArgs, VllmArgs};
use super::server::model;
use crate::argparse::ParsedCommandLine;
use crate::error::CliError;
use crate::number::finite;

/// Returns the dialect with its settings.
pub(super) fn wire(args: &VllmArgs, given: &ParsedCommandLine) -> Result<BackendSpec, CliError> {
    let dialect = dialect(args)?;
    let mut spec = VllmSpec::new(dialect, common(args, dialect)?);
    spec.logprobs = args.request.logprobs;
    spec.endpoint = endpoint(args, given, dialect)?;
    Ok(BackendSpec::Vllm(spec))
}

/// Returns the dialect of `--backend`.
pub(super) fn dialect(args: &VllmArgs) -> Result<VllmDialect, CliError> {
    let name = &args.target.backend;
    VllmDialect::of(name).ok_or_else(|| CliError::not_built(format!("--backend {name}")))
}

fn common(args: &VllmArgs, dialect: VllmDialect) -> Result<CommonSpec, CliError> {
    let model = model(args);
    let mut common = CommonSpec::new(model.served_name.or(model.name).unwrap_or_default());
    common.ignore_eos = ignores_eos(args, dialect);
    if dialect.generates() {
        common.extra_body = sampling(&args.request)?;
    }
    if dialect == VllmDialect::OpenaiAudio && !common.extra_body.is_empty() {
        return Err(CliError::Together(
            "Sampling parameters are only supported by openai-compatible backends.",
        ));
    }
    common.extra_body.extend(extra_body(&args.request)?);
    Ok(common)
}

/// Returns whether requests ask the server to ignore end-of-sequence tokens.
pub(super) fn ignores_eos(args: &VllmArgs, dialect: VllmDialect) -> bool {
    args.request.ignore_eos || goes_on(args, dialect)
}

/// Returns whether the data set requires the requested lengths: random text, or a trace with
/// recorded lengths.
fn goes_on(args: &VllmArgs, dialect: VllmDialect) -> bool {
    let is_random = ["random", "random-mm"].contains(&args.dataset.dataset_name.as_str());
    is_random && dialect.generates() || args.dataset.dataset_name == "timed_trace"
}

/// Returns the given sampling parameters in vLLM's order.
fn sampling(args: &RequestArgs) -> Result<JsonObject, CliError> {
    let float = |flag, value: Option<f64>| -> Result<Option<Value>, CliError> {
        Ok(value.map(|value| finite(flag, value)).transpose()?.map(|value| json!(value)))
    };
    let keys = [
        ("top_p", float(RequestArgs::TOP_P, args.top_p)?),
        ("top_k", args.top_k.map(Value::from)),
        ("min_p", float(RequestArgs::MIN_P, args.min_p)?),
        ("temperature", float(RequestArgs::TEMPERATURE, args.temperature)?),
        ("frequency_penalty", float(RequestArgs::FREQUENCY_PENALTY, args.frequency_penalty)?),
        ("presence_penalty", float(RequestArgs::PRESENCE_PENALTY, args.presence_penalty)?),
        ("repetition_penalty", float(RequestArgs::REPETITION_PENALTY, args.repetition_penalty)?),
    ];
    Ok(keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect())
}

fn extra_body(args: &RequestArgs) -> Result<JsonObject, CliError> {
    match args.extra_body.clone() {
        None | Some(Value::Null) => Ok(JsonObject::new()),
        Some(Value::Object(object)) => Ok(object),
        Some(other) => {
            let why = format!("must be a JSON object, such as {{\"n\": 1}}, not {other}");
            Err(CliError::setting(RequestArgs::EXTRA_BODY, why))
        }
    }
}

/// Returns the given path, or the dialect's own by default. vLLM's default is that of text
/// completions in every dialect.
fn endpoint(
    args: &VllmArgs,
    given: &ParsedCommandLine,
    dialect: VllmDialect,
) -> Result<Option<String>, CliError> {
    if !given.is(TargetArgs::ENDPOINT) {
        return Ok(None);
    }
    let (base, path) = (args.target.base_url.as_deref(), &args.target.endpoint);
    check_suffix(&format!("{}{path}", base.unwrap_or_default()), dialect)?;
    match (path.is_empty() || path.starts_with('/'), base) {
        (true, _) => Ok(Some(path.clone())),
        (false, Some(base)) if base.ends_with('/') => Ok(Some(format!("/{path}"))),
        _ => Err(CliError::setting(TargetArgs::ENDPOINT, "must begin with a slash")),
    }
}

/// Refuses a URL whose end does not fit the dialect, as vLLM does.
fn check_suffix(url: &str, dialect: VllmDialect) -> Result<(), CliError> {
    let suffixes = dialect.suffixes();
    if suffixes.iter().any(|suffix| url.ends_with(suffix)) {
        return Ok(());
    }
    let api = dialect.api();
    let quoted: Vec<String> = suffixes.iter().map(|suffix| format!("'{suffix}'")).collect();
    let quoted = quoted.join(", ");
    Err(CliError::Peer(format!("{api} URL must end with one of: {{{quoted}}}.")))
}
