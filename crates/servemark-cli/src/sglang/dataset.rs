//! What is sent, and how much of it.

use std::num::NonZero;
use std::path::PathBuf;

use servemark_backends::{BackendName, Route};
use servemark_datasets::{
    CustomSpec, DatasetName, DatasetSpec, FixedOutput, Grouping, MooncakeSpec, MooncakeWorkload,
    OpenaiSpec, PromptForm, PromptFormat, RandomSpec, RangeRatio, Shaping, ShareGptSpec, Source,
    TraceFormat, TraceSpec,
};
use servemark_plan::WorkloadSpec;

use super::args::{DatasetArgs, EmbeddingArgs, SglangArgs, TraceArgs};
use super::number::{at_least, refused, some_at_least};
use crate::error::CliError;

/// The data set's name, if it is built.
pub(super) fn name(args: &DatasetArgs) -> Result<DatasetName, CliError> {
    let name = &args.dataset_name;
    name.parse().map_err(|_| CliError::not_built(format!("--dataset-name {name}")))
}

/// The data set with its knobs.
pub(super) fn workload(
    parsed: &SglangArgs,
    backend: BackendName,
) -> Result<WorkloadSpec, CliError> {
    let SglangArgs { dataset: args, trace: replay, own, .. } = parsed;
    check_token_ids(args, backend)?;
    let spec = match name(args)? {
        DatasetName::Random => {
            DatasetSpec::Random(random(args, Source::Sharegpt { path: path(args) })?)
        }
        DatasetName::RandomIds => DatasetSpec::Random(random(args, Source::Vocabulary)?),
        DatasetName::Sharegpt => {
            let mut spec = ShareGptSpec::default();
            spec.path = path(args);
            spec.shaping = shaping(args)?;
            DatasetSpec::Sharegpt(spec)
        }
        DatasetName::Custom => {
            let mut spec = CustomSpec::default();
            spec.path = path(args);
            spec.on_bad_line = own.bad_lines;
            spec.shaping = shaping(args)?;
            DatasetSpec::Custom(spec)
        }
        DatasetName::Mooncake => DatasetSpec::Mooncake(mooncake(args, replay)?),
        DatasetName::Openai => {
            let mut spec = OpenaiSpec::default();
            spec.path = path(args);
            spec.on_bad_line = own.bad_lines;
            spec.output_tokens = some_at_least(OUTPUT_LEN, 0, args.sharegpt_output_len)?;
            DatasetSpec::Openai(spec)
        }
        DatasetName::AzureTrace => trace(TraceFormat::Azure, args),
        DatasetName::Burstgpt => trace(TraceFormat::Burstgpt, args),
        DatasetName::OtelTrace => trace(TraceFormat::Otel, args),
        DatasetName::Servegen => trace(TraceFormat::Servegen, args),
        other => return Err(CliError::not_built(format!("--dataset-name {other}"))),
    };
    let mut workload = WorkloadSpec::new(spec, at_least("--num-prompts", 1, args.num_prompts)?);
    workload.grouping = grouping(&parsed.embedding, backend)?;
    workload.seed = at_least("--seed", 0, args.seed)?;
    Ok(workload)
}

/// How many texts go into a request: several on the routes that take several.
fn grouping(args: &EmbeddingArgs, backend: BackendName) -> Result<Grouping, CliError> {
    let batch: usize = at_least("--batch-size", 1, args.batch_size)?;
    let documents: usize = at_least("--documents", 1, args.documents)?;
    let number = |count| NonZero::new(count).unwrap_or(NonZero::<usize>::MIN);
    Ok(match backend.route() {
        Route::Rerank => Grouping::Ranking { documents: number(documents) },
        Route::Embeddings if batch > 1 => Grouping::Texts(number(batch)),
        _ => Grouping::Single,
    })
}

/// Refuses token ids where SGLang asserts that there are none.
fn check_token_ids(args: &DatasetArgs, backend: BackendName) -> Result<(), CliError> {
    let is_random = matches!(name(args)?, DatasetName::Random | DatasetName::RandomIds);
    match (args.tokenize_prompt, is_random, backend) {
        (false, _, _) | (true, true, BackendName::Sglang) => Ok(()),
        (true, true, _) => Err(CliError::Together("--tokenize-prompt requires --backend sglang")),
        (true, false, _) => Err(CliError::Together(
            "--tokenize-prompt requires --dataset-name random or random-ids",
        )),
    }
}

fn random(args: &DatasetArgs, source: Source) -> Result<RandomSpec, CliError> {
    let mut spec = RandomSpec::default();
    spec.source = source;
    spec.input_tokens = at_least("--random-input-len", 0, args.random_input_len)?;
    spec.output_tokens = at_least("--random-output-len", 0, args.random_output_len)?;
    let ratio = RangeRatio::new(args.random_range_ratio);
    spec.range_ratio = ratio.map_err(refused("--random-range-ratio"))?;
    spec.form = if args.tokenize_prompt { PromptForm::TokenIds } else { PromptForm::Text };
    Ok(spec)
}

fn shaping(args: &DatasetArgs) -> Result<Shaping, CliError> {
    let mut shaping = Shaping::default();
    let output: Option<u32> = some_at_least(OUTPUT_LEN, 0, args.sharegpt_output_len)?;
    shaping.output_tokens =
        output.map(FixedOutput::new).transpose().map_err(refused(OUTPUT_LEN))?;
    // Zero is no limit, because it is none to SGLang.
    let context: Option<u32> =
        some_at_least("--sharegpt-context-len", 0, args.sharegpt_context_len)?;
    shaping.context_tokens = context.and_then(NonZero::new);
    shaping.prompt_suffix.clone_from(&args.prompt_suffix);
    if args.apply_chat_template {
        shaping.prompt_format = PromptFormat::ChatTemplate;
    }
    Ok(shaping)
}

fn mooncake(args: &DatasetArgs, replay: &TraceArgs) -> Result<MooncakeSpec, CliError> {
    let mut spec = MooncakeSpec::default();
    spec.path = path(args);
    spec.workload = match replay.mooncake_workload.as_str() {
        "mooncake" => MooncakeWorkload::Mooncake,
        "synthetic" => MooncakeWorkload::Synthetic,
        "toolagent" => MooncakeWorkload::Toolagent,
        _ => MooncakeWorkload::Conversation,
    };
    let rounds: u32 = at_least("--mooncake-num-rounds", 1, replay.mooncake_num_rounds)?;
    spec.rounds = NonZero::new(rounds).unwrap_or(spec.rounds);
    spec.prompts = replay.mooncake_prompts;
    Ok(spec)
}

fn trace(format: TraceFormat, args: &DatasetArgs) -> DatasetSpec {
    DatasetSpec::Trace(TraceSpec::new(format, path(args)))
}

fn path(args: &DatasetArgs) -> Option<PathBuf> {
    (!args.dataset_path.is_empty()).then(|| args.dataset_path.clone().into())
}

const OUTPUT_LEN: &str = "--sharegpt-output-len";
