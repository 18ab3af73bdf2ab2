//! Turns the flags into the wire format: the settings of the route, and additional fields of every
//! body.

use serde_json::{Value, json};
use servemark_backends::{BackendName, BackendSpec, CommonSpec, GenerateSpec, Route};
use servemark_core::JsonObject;
use servemark_datasets::DatasetSpec;
use servemark_plan::ModelSpec;

use super::args::{EmbeddingArgs, RequestArgs, SglangArgs};
use super::server::model;
use crate::error::CliError;
use crate::number::{at_least, finite, some_at_least};

/// Returns the route with its settings.
pub(super) fn wire(
    args: &SglangArgs,
    backend: BackendName,
    dataset: &DatasetSpec,
) -> Result<BackendSpec, CliError> {
    let mut spec = BackendSpec::new(backend, common(args, backend)?);
    let include_usage = args.own.include_usage;
    match &mut spec {
        BackendSpec::Generate(generate) => set_generate(generate, &args.request)?,
        BackendSpec::Completions(completions) => {
            completions.include_usage = include_usage;
            completions.logprobs = completions_logprobs(&args.request)?;
        }
        // Only the server knows how many tokens a conversation has after several turns.
        BackendSpec::Chat(chat) => chat.include_usage = include_usage || dataset.is_multi_turn(),
        BackendSpec::Embeddings(embeddings) => {
            embeddings.encoding_format = args.embedding.encoding_format;
            embeddings.dimensions =
                some_at_least(EmbeddingArgs::DIMENSIONS, 1, args.embedding.dimensions)?;
        }
        BackendSpec::Anthropic(anthropic) => {
            anthropic.temperature = finite(RequestArgs::TEMPERATURE, args.request.temperature)?;
            anthropic.top_p = finite(RequestArgs::TOP_P, args.request.top_p)?;
        }
        BackendSpec::Ollama(ollama) => {
            ollama.temperature = finite(RequestArgs::TEMPERATURE, args.request.temperature)?;
            ollama.top_p = finite(RequestArgs::TOP_P, args.request.top_p)?;
        }
        _ => {}
    }
    Ok(spec)
}

fn common(args: &SglangArgs, backend: BackendName) -> Result<CommonSpec, CliError> {
    let ModelSpec { name, served_name, .. } = model(args);
    let mut common = CommonSpec::new(served_name.or(name).unwrap_or_default());
    common.stream = !args.request.disable_stream;
    common.ignore_eos = !args.request.disable_ignore_eos;
    common.extra_body = extra_body(args, backend)?;
    Ok(common)
}

fn set_generate(spec: &mut GenerateSpec, args: &RequestArgs) -> Result<(), CliError> {
    spec.temperature = finite(RequestArgs::TEMPERATURE, args.temperature)?;
    spec.top_p = finite(RequestArgs::TOP_P, args.top_p)?;
    spec.return_logprob = args.return_logprob;
    spec.top_logprobs_num = at_least(RequestArgs::TOP_LOGPROBS_NUM, 0, args.top_logprobs_num)?;
    // Numbers that are not ids of tokens are sent too; refusing them is left to the server.
    spec.token_ids_logprob = args.token_ids_logprob.clone().unwrap_or_default();
    spec.logprob_start_len = args.logprob_start_len;
    spec.return_routed_experts = args.return_routed_experts;
    Ok(())
}

/// Returns the number of log-probabilities per token on `/v1/completions`; `None` unless both
/// `--return-logprob` and `--top-logprobs-num` ask for them.
fn completions_logprobs(args: &RequestArgs) -> Result<Option<u32>, CliError> {
    let top: u32 = at_least(RequestArgs::TOP_LOGPROBS_NUM, 0, args.top_logprobs_num)?;
    Ok((args.return_logprob && top > 0).then_some(top))
}

fn extra_body(args: &SglangArgs, backend: BackendName) -> Result<JsonObject, CliError> {
    let SglangArgs { request, output, .. } = args;
    let mut extra = match request.extra_request_body.as_deref().filter(|text| !text.is_empty()) {
        Some(text) => json_object(text)?,
        None => JsonObject::new(),
    };
    // `/generate` reports cached tokens without this field.
    if output.cache_report && backend.reports_cache() && backend.route() != Route::GENERATE {
        extra.insert("return_cached_tokens_details".to_owned(), json!(true));
    }
    if request.fake_prefill {
        extra.insert("bootstrap_host".to_owned(), json!("2.2.2.2"));
        extra.insert("bootstrap_room".to_owned(), json!(0));
    }
    Ok(extra)
}

fn json_object(text: &str) -> Result<JsonObject, CliError> {
    let refuse = |why: String| CliError::setting(RequestArgs::EXTRA_REQUEST_BODY, why);
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(other) => {
            Err(refuse(format!("must be a JSON object, such as {{\"n\": 1}}, not {other}")))
        }
        Err(error) => Err(refuse(format!("is not JSON: {error}"))),
    }
}
