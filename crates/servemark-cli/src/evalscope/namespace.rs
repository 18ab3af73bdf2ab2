//! The arguments in the form of evalscope's own model of them, which results repeat.

use serde_json::{Value, json};
use servemark_core::JsonObject;
use servemark_datasets::MaxTokens;

use super::args::EvalscopeArgs;
use super::resolved::{ResolvedArgs, Step};
use super::server;
use super::settings;
use crate::error::CliError;

/// Returns every argument, in evalscope's order. Values of headers are hidden, because each may be
/// a secret.
pub(super) fn namespace(
    args: &EvalscopeArgs,
    resolved: &ResolvedArgs,
) -> Result<JsonObject, CliError> {
    let parts = [
        target(args, resolved)?,
        load(args, resolved),
        search(args),
        client(args),
        prompts(args, resolved),
        data(args, resolved),
        sampling(args, resolved),
        turns(args)?,
    ];
    let pairs = parts.into_iter().flatten();
    Ok(pairs.map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Returns the arguments of one run of a sweep, from those of the whole command line.
pub(super) fn of_run(
    mut namespace: JsonObject,
    step: Step,
    folder: &str,
    offset: u64,
) -> JsonObject {
    let own = [
        ("number", json!(step.number)),
        ("parallel", json!(step.parallel)),
        ("rate", json!(step.rate)),
        ("outputs_dir", json!(folder)),
        ("dataset_offset", json!(offset)),
    ];
    for (key, value) in own {
        namespace.insert(key.to_owned(), value);
    }
    namespace
}

/// Returns the last part of the model's name, by which its results are distinguished from others;
/// the name of the data set if no model is given.
pub(super) fn model_id(args: &EvalscopeArgs) -> &str {
    match args.target.model.as_deref() {
        Some(model) if !model.is_empty() => model.rsplit('/').next().unwrap_or_default(),
        _ => &args.dataset.dataset,
    }
}

type Pairs = Vec<(&'static str, Value)>;

fn target(args: &EvalscopeArgs, resolved: &ResolvedArgs) -> Result<Pairs, CliError> {
    let target = &args.target;
    let mut headers = JsonObject::new();
    for pair in target.headers.iter().flatten() {
        headers.insert(server::split(pair)?.0.to_owned(), json!(HIDDEN));
    }
    let key = target.api_key.as_deref().filter(|key| !key.is_empty());
    if key.is_some() {
        headers.insert("Authorization".to_owned(), json!(HIDDEN));
    }
    Ok(vec![
        ("model", json!(target.model)),
        ("model_id", json!(model_id(args))),
        ("attn_implementation", json!(target.attn_implementation)),
        ("api", json!(target.api)),
        ("tokenizer_path", json!(target.tokenizer_path)),
        ("port", json!(target.port)),
        ("url", json!(resolved.address.url())),
        ("headers", headers.into()),
        ("connect_timeout", json!(target.connect_timeout)),
        ("read_timeout", json!(target.read_timeout)),
        ("total_timeout", json!(target.total_timeout)),
        ("api_key", json!(target.api_key.as_ref().map(|_| HIDDEN))),
        ("no_test_connection", json!(target.no_test_connection)),
    ])
}

fn load(args: &EvalscopeArgs, resolved: &ResolvedArgs) -> Pairs {
    let load = &args.load;
    // In evalscope the default is an integer, and a given value is a float.
    let warmup = if load.warmup_num == 0.0 { json!(0) } else { json!(load.warmup_num) };
    vec![
        ("scenario", json!(load.scenario)),
        ("number", json!(resolved.number)),
        ("parallel", json!(resolved.parallel)),
        ("rate", json!(resolved.rate)),
        ("warmup_num", warmup),
        ("enable_pd_metrics", json!(load.enable_pd_metrics)),
        ("open_loop", json!(load.open_loop)),
        ("sleep_interval", json!(load.sleep_interval)),
        ("duration", json!(load.duration)),
    ]
}

fn search(args: &EvalscopeArgs) -> Pairs {
    let sla = &args.sla;
    vec![
        ("sla_auto_tune", json!(sla.sla_auto_tune)),
        ("sla_variable", json!(sla.sla_variable)),
        ("sla_params", json!(sla.sla_params)),
        ("sla_num_runs", json!(sla.sla_num_runs)),
        ("sla_upper_bound", json!(sla.sla_upper_bound)),
        ("sla_lower_bound", json!(sla.sla_lower_bound)),
        ("sla_fixed_parallel", json!(sla.sla_fixed_parallel)),
        ("sla_number_multiplier", json!(sla.sla_number_multiplier)),
    ]
}

fn client(args: &EvalscopeArgs) -> Pairs {
    let client = &args.client;
    vec![
        ("db_commit_interval", json!(client.db_commit_interval.max(1))),
        ("queue_size_multiplier", json!(client.queue_size_multiplier.max(1))),
        ("in_flight_task_multiplier", json!(client.in_flight_task_multiplier.max(1))),
        ("num_workers", json!(client.num_workers.unwrap_or_default())),
        ("log_every_n_query", json!(client.log_every_n_query.max(1))),
        ("debug", json!(client.debug)),
        ("enable_progress_tracker", json!(client.enable_progress_tracker)),
        ("visualizer", json!(client.visualizer)),
        ("wandb_api_key", Value::Null),
        ("swanlab_api_key", Value::Null),
        ("swanlab_host", json!(client.swanlab_host)),
        ("name", json!(client.name)),
        ("alias", json!(client.alias)),
        ("outputs_dir", json!(args.output.outputs_dir)),
        ("no_timestamp", json!(args.output.no_timestamp)),
    ]
}

fn prompts(args: &EvalscopeArgs, resolved: &ResolvedArgs) -> Pairs {
    let prompt = &args.prompt;
    vec![
        ("max_prompt_length", json!(prompt.max_prompt_length)),
        ("min_prompt_length", json!(prompt.min_prompt_length)),
        ("prefix_length", json!(prompt.prefix_length)),
        ("prefix_count", json!(prompt.prefix_count)),
        ("prompt", json!(prompt.prompt)),
        ("query_template", json!(prompt.query_template)),
        ("apply_chat_template", json!(resolved.chat)),
        ("image_width", json!(prompt.image_width)),
        ("image_height", json!(prompt.image_height)),
        ("image_format", json!(prompt.image_format)),
        ("image_num", json!(prompt.image_num)),
        ("image_patch_size", json!(prompt.image_patch_size)),
    ]
}

fn data(args: &EvalscopeArgs, resolved: &ResolvedArgs) -> Pairs {
    let dataset = &args.dataset;
    vec![
        ("dataset", json!(dataset.dataset)),
        ("dataset_path", json!(dataset.dataset_path)),
        ("data_source", json!(dataset.data_source)),
        ("dataset_offset", json!(dataset.dataset_offset)),
        ("dataset_args", json!(resolved.dataset_args)),
    ]
}

fn sampling(args: &EvalscopeArgs, resolved: &ResolvedArgs) -> Pairs {
    let sampling = &args.sampling;
    let max_tokens = match resolved.max_tokens {
        MaxTokens::Between { least, most, .. } => json!([least, most]),
        MaxTokens::Fixed(_) => json!(sampling.max_tokens[0]),
    };
    vec![
        ("frequency_penalty", json!(sampling.frequency_penalty)),
        ("repetition_penalty", json!(sampling.repetition_penalty)),
        ("logprobs", json!(sampling.logprobs.then_some(true))),
        ("max_tokens", max_tokens),
        ("min_tokens", json!(sampling.min_tokens)),
        ("n_choices", json!(sampling.n_choices)),
        ("seed", json!(sampling.seed)),
        ("stop", json!(sampling.stop)),
        ("stop_token_ids", json!(sampling.stop_token_ids)),
        ("stream", json!(!sampling.no_stream)),
        ("temperature", json!(sampling.temperature)),
        ("top_p", json!(sampling.top_p)),
        ("top_k", json!(sampling.top_k)),
        ("extra_args", sampling.extra_args.clone()),
        ("tokenize_prompt", json!(sampling.tokenize_prompt)),
    ]
}

fn turns(args: &EvalscopeArgs) -> Result<Pairs, CliError> {
    let turns = &args.turns;
    let old = turns.multi_turn_args.as_ref().map(|_| settings::whole(args)).transpose()?;
    Ok(vec![
        ("multi_turn", json!(turns.multi_turn)),
        ("min_turns", json!(turns.min_turns)),
        ("max_turns", json!(turns.max_turns)),
        ("multi_turn_args", json!(old)),
    ])
}

/// Text that replaces a secret.
const HIDDEN: &str = "**********";
