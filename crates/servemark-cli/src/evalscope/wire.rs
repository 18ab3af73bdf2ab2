//! The wire dialect of requests, with the parameters of their bodies.

use serde_json::Value;
use servemark_backends::{
    BackendName, BackendSpec, EvalscopeApi, EvalscopeSampling, EvalscopeSpec,
};
use servemark_core::JsonObject;

use super::args::{EvalscopeArgs, PromptArgs, SamplingArgs};
use super::resolved::ResolvedArgs;
use super::{dataset, server};
use crate::environment::Environment;
use crate::error::CliError;
use crate::number::{finite, some_at_least};

/// Returns the wire dialect of the API, with its parameters.
pub(super) fn wire(
    args: &EvalscopeArgs,
    resolved: &ResolvedArgs,
    environment: &Environment,
) -> Result<BackendSpec, CliError> {
    let model = server::model(args).name.unwrap_or_default();
    let mut spec = EvalscopeSpec::new(resolved.api, model);
    spec.common.stream = !args.sampling.no_stream;
    spec.common.extra_body = extra(&args.sampling)?;
    *spec.sampling = sampling(&args.sampling, resolved.api)?;
    spec.has_max_tokens = resolved.dataset.is_trie();
    // Embeddings, rankings and decisions are not made of a template, so evalscope does not parse
    // one.
    spec.query_template = match template(args, environment) {
        Err(_) if !resolved.api.generates() => None,
        template => template?,
    };
    spec.endpoint = Some(resolved.address.endpoint());
    Ok(BackendSpec::Evalscope(spec))
}

/// Returns the backend that stands for the conventions of servers with this API.
pub(super) fn backend(resolved: &ResolvedArgs) -> BackendName {
    match resolved.api {
        EvalscopeApi::OpenaiEmbedding => BackendName::VllmEmbedding,
        EvalscopeApi::OpenaiRerank => BackendName::VllmRerank,
        _ if resolved.chat => BackendName::VllmChat,
        _ => BackendName::Vllm,
    }
}

/// Returns the parameters that are sent. Parameters that the API does not take may have any value:
/// one that is not finite is left out.
fn sampling(args: &SamplingArgs, api: EvalscopeApi) -> Result<EvalscopeSampling, CliError> {
    let takes_all = api.generates() && api != EvalscopeApi::OpenaiResponses;
    let float = |flag, value: Option<f64>, is_sent: bool| {
        let value = value.filter(|value| is_sent || value.is_finite());
        value.map(|value| finite(flag, value)).transpose()
    };
    let mut sampling = EvalscopeSampling::default();
    sampling.min_tokens = some_at_least(SamplingArgs::MIN_TOKENS, 0, args.min_tokens)?;
    sampling.frequency_penalty =
        float(SamplingArgs::FREQUENCY_PENALTY, args.frequency_penalty, takes_all)?;
    sampling.repetition_penalty =
        float(SamplingArgs::REPETITION_PENALTY, args.repetition_penalty, takes_all)?;
    sampling.logprobs = args.logprobs.then_some(true);
    sampling.choices = some_at_least(SamplingArgs::N_CHOICES, 1, args.n_choices)?;
    sampling.seed = args.seed;
    sampling.stop.clone_from(&args.stop);
    sampling.stop_token_ids.clone_from(&args.stop_token_ids);
    let temperature = float(SamplingArgs::TEMPERATURE, Some(args.temperature), api.generates())?;
    sampling.temperature = temperature.unwrap_or_default();
    sampling.top_p = float(SamplingArgs::TOP_P, args.top_p, api.generates())?;
    sampling.top_k = args.top_k;
    Ok(sampling)
}

fn extra(args: &SamplingArgs) -> Result<JsonObject, CliError> {
    match &args.extra_args {
        Value::Null => Ok(JsonObject::new()),
        Value::Object(object) => Ok(object.clone()),
        other => {
            let why =
                format!("must be a JSON object, such as {{\"ignore_eos\": true}}, not {other}");
            Err(CliError::setting(SamplingArgs::EXTRA_ARGS, why))
        }
    }
}

fn template(
    args: &EvalscopeArgs,
    environment: &Environment,
) -> Result<Option<JsonObject>, CliError> {
    let Some(template) = &args.prompt.query_template else { return Ok(None) };
    let text = dataset::text_or_file(PromptArgs::QUERY_TEMPLATE, template, environment)?;
    serde_json::from_str(&text).map(Some).map_err(|error| {
        CliError::setting(
            PromptArgs::QUERY_TEMPLATE,
            format!("must be a JSON object or @FILE: {error}"),
        )
    })
}
