//! Turns the flags into the workload: the data set and the number of its prompts.

use std::num::NonZero;
use std::path::PathBuf;

use servemark_backends::{BackendName, Route};
use servemark_datasets::{
    AgenticTraceSpec, BadLine, CustomSpec, DatasetName, DatasetSpec, FixedOutput, Grouping,
    ImageCount, ImageSpec, LongBenchSpec, MmmuSpec, MooncakePrompts, MooncakeSpec,
    MooncakeWorkload, OpenaiSpec, PromptForm, PromptFormat, RandomSpec, RangeRatio, Shaping,
    ShareGptSpec, Source, SpeedBenchCategory, SpeedBenchSpec, TraceFormat, TraceSpec,
};
use servemark_plan::WorkloadSpec;

use super::args::{DatasetArgs, EmbeddingArgs, OwnArgs, SglangArgs, TraceArgs};
use super::shared_prefix;
use crate::argparse::Flag;
use crate::environment::Environment;
use crate::error::CliError;
use crate::number::{at_least, refused, some_at_least};

/// Parses `--dataset-name`.
pub(super) fn name(args: &DatasetArgs) -> Result<DatasetName, CliError> {
    args.dataset_name.parse().map_err(refused(DatasetArgs::DATASET_NAME))
}

/// Returns the data set with its settings, the number of requests, their grouping and the seed.
pub(super) fn workload(
    args: &SglangArgs,
    backend: BackendName,
    environment: &Environment,
) -> Result<WorkloadSpec, CliError> {
    check_token_ids(&args.dataset, backend)?;
    let dataset = dataset(args, backend, environment)?;
    // As in SGLang's client, `--num-prompts` does not limit shared-prefix prompts.
    let requests = match &dataset {
        DatasetSpec::GeneratedSharedPrefix(spec) => spec.sessions(),
        _ => prompts(&args.dataset)?,
    };
    let mut workload = WorkloadSpec::new(dataset, requests);
    workload.grouping = grouping(&args.embedding, backend)?;
    workload.seed = seed(&args.dataset)?;
    Ok(workload)
}

/// Returns the number of `--num-prompts`, which may be zero for data sets of which zero means all
/// prompts.
pub(super) fn prompts(args: &DatasetArgs) -> Result<usize, CliError> {
    let least = i64::from(!name(args)?.zero_means_all());
    at_least(DatasetArgs::NUM_PROMPTS, least, args.num_prompts)
}

fn seed(args: &DatasetArgs) -> Result<u32, CliError> {
    at_least(DatasetArgs::SEED, 0, args.seed)
}

fn dataset(
    args: &SglangArgs,
    backend: BackendName,
    environment: &Environment,
) -> Result<DatasetSpec, CliError> {
    let SglangArgs { dataset: args, trace: replay, shared_prefix, own, .. } = args;
    Ok(match name(args)? {
        DatasetName::AgenticTrace => DatasetSpec::AgenticTrace(agentic_trace(args)?),
        DatasetName::GeneratedSharedPrefix => DatasetSpec::GeneratedSharedPrefix(
            shared_prefix::spec(shared_prefix, (form(args), seed(args)?), environment, backend)?,
        ),
        DatasetName::LongBenchV2 => DatasetSpec::LongBenchV2(long_bench(args, own)?),
        DatasetName::SpeedBench => DatasetSpec::SpeedBench(speed_bench(args, own)?),
        DatasetName::Random => {
            DatasetSpec::Random(random(args, Source::Sharegpt { path: path(args) })?)
        }
        DatasetName::RandomIds => DatasetSpec::Random(random(args, Source::Vocabulary)?),
        DatasetName::Sharegpt => {
            let spec = ShareGptSpec { path: path(args), shaping: shaping(args)? };
            DatasetSpec::Sharegpt(spec)
        }
        DatasetName::Custom => {
            let spec = CustomSpec {
                path: path(args),
                on_bad_line: own.bad_lines.unwrap_or(BadLine::Skip),
                shaping: shaping(args)?,
            };
            DatasetSpec::Custom(spec)
        }
        DatasetName::Mooncake => DatasetSpec::Mooncake(mooncake(args, replay)?),
        DatasetName::Openai => {
            let spec = OpenaiSpec {
                path: path(args),
                on_bad_line: own.bad_lines.unwrap_or(BadLine::Skip),
                output_tokens: some_at_least(OUTPUT_LEN, 0, args.sharegpt_output_len)?,
            };
            DatasetSpec::Openai(spec)
        }
        DatasetName::AzureTrace => trace(TraceFormat::Azure, args),
        DatasetName::Burstgpt => trace(TraceFormat::Burstgpt, args),
        DatasetName::OtelTrace => trace(TraceFormat::Otel, args),
        DatasetName::Servegen => trace(TraceFormat::Servegen, args),
        DatasetName::Image => DatasetSpec::Image(image(args, backend)?),
        DatasetName::Mmmu => DatasetSpec::Mmmu(mmmu(args, backend)?),
        other => return Err(CliError::not_built(format!("--dataset-name {other}"))),
    })
}

/// Returns how many texts a request has; several only on the routes that take several.
fn grouping(args: &EmbeddingArgs, backend: BackendName) -> Result<Grouping, CliError> {
    let batch: usize = at_least(EmbeddingArgs::BATCH_SIZE, 1, args.batch_size)?;
    let documents: usize = at_least(EmbeddingArgs::DOCUMENTS, 1, args.documents)?;
    let number = |count| NonZero::new(count).unwrap_or(NonZero::<usize>::MIN);
    Ok(match backend.route() {
        Route::RERANK => Grouping::Ranking { documents: number(documents) },
        Route::EMBEDDINGS if batch > 1 => Grouping::Texts(number(batch)),
        _ => Grouping::Single,
    })
}

/// Refuses `--tokenize-prompt` where SGLang's client asserts that prompts are not token ids: with
/// data sets of texts, and with backends other than `sglang`.
fn check_token_ids(args: &DatasetArgs, backend: BackendName) -> Result<(), CliError> {
    let name = name(args)?;
    let asserts_none = matches!(
        name,
        DatasetName::Custom | DatasetName::Image | DatasetName::Mmmu | DatasetName::Sharegpt
    );
    match backend {
        _ if !args.tokenize_prompt => Ok(()),
        _ if asserts_none => Err(CliError::Together(
            "--tokenize-prompt requires --dataset-name random, random-ids or \
             generated-shared-prefix",
        )),
        BackendName::Sglang => Ok(()),
        _ => Err(CliError::Together("--tokenize-prompt requires --backend sglang")),
    }
}

fn agentic_trace(args: &DatasetArgs) -> Result<AgenticTraceSpec, CliError> {
    let mut spec = AgenticTraceSpec {
        path: path(args),
        offset: args.dataset_offset,
        ..AgenticTraceSpec::default()
    };
    // SGLang takes zero as absent: as no limit on turns, and as no output length.
    let turns: Option<usize> =
        some_at_least(DatasetArgs::AGENTIC_MAX_TURNS, 0, args.agentic_max_turns)?;
    spec.max_turns = turns.filter(|turns| *turns > 0);
    let output: Option<u32> = some_at_least(OUTPUT_LEN, 0, args.sharegpt_output_len)?;
    spec.output_tokens = output.filter(|tokens| *tokens > 0).unwrap_or(spec.output_tokens);
    Ok(spec)
}

fn long_bench(args: &DatasetArgs, own: &OwnArgs) -> Result<LongBenchSpec, CliError> {
    let mut spec = LongBenchSpec {
        path: path(args),
        on_bad_line: own.bad_lines.unwrap_or_default(),
        ..LongBenchSpec::default()
    };
    let output: Option<u32> = some_at_least(OUTPUT_LEN, 0, args.sharegpt_output_len)?;
    spec.output_tokens = output.unwrap_or(spec.output_tokens);
    spec.context_tokens = context_tokens(args)?;
    Ok(spec)
}

fn speed_bench(args: &DatasetArgs, own: &OwnArgs) -> Result<SpeedBenchSpec, CliError> {
    Ok(SpeedBenchSpec {
        path: path(args),
        on_bad_line: own.bad_lines.unwrap_or_default(),
        category: args.speed_bench_category.as_deref().and_then(SpeedBenchCategory::of),
        output_tokens: at_least(
            DatasetArgs::SPEED_BENCH_OUTPUT_LEN,
            0,
            args.speed_bench_output_len,
        )?,
    })
}

fn random(args: &DatasetArgs, source: Source) -> Result<RandomSpec, CliError> {
    let mut spec = RandomSpec {
        source,
        input_tokens: at_least(DatasetArgs::RANDOM_INPUT_LEN, 0, args.random_input_len)?,
        output_tokens: at_least(DatasetArgs::RANDOM_OUTPUT_LEN, 0, args.random_output_len)?,
        ..RandomSpec::default()
    };
    let ratio = RangeRatio::new(args.random_range_ratio);
    spec.range_ratio = ratio.map_err(refused(DatasetArgs::RANDOM_RANGE_RATIO))?;
    spec.form = form(args);
    Ok(spec)
}

fn form(args: &DatasetArgs) -> PromptForm {
    if args.tokenize_prompt { PromptForm::TokenIds } else { PromptForm::Text }
}

fn image(args: &DatasetArgs, backend: BackendName) -> Result<ImageSpec, CliError> {
    let mut spec = ImageSpec::default();
    let most = at_least(DatasetArgs::IMAGE_COUNT, 1, args.image_count)?;
    let most = NonZero::new(most).unwrap_or(NonZero::<u32>::MIN);
    spec.images =
        if args.random_image_count { ImageCount::UpTo(most) } else { ImageCount::Fixed(most) };
    let resolution = args.image_resolution.parse();
    spec.resolution = resolution.map_err(refused(DatasetArgs::IMAGE_RESOLUTION))?;
    spec.format = args.image_format.parse().map_err(refused(DatasetArgs::IMAGE_FORMAT))?;
    spec.content = args.image_content.parse().map_err(refused(DatasetArgs::IMAGE_CONTENT))?;
    spec.input_tokens = at_least(DatasetArgs::RANDOM_INPUT_LEN, 0, args.random_input_len)?;
    spec.output_tokens = at_least(DatasetArgs::RANDOM_OUTPUT_LEN, 0, args.random_output_len)?;
    let ratio = RangeRatio::new(args.random_range_ratio);
    spec.range_ratio = ratio.map_err(refused(DatasetArgs::RANDOM_RANGE_RATIO))?;
    spec.prompt_format = pictured_text(backend);
    Ok(spec)
}

fn mmmu(args: &DatasetArgs, backend: BackendName) -> Result<MmmuSpec, CliError> {
    let spec = MmmuSpec {
        path: path(args),
        output_tokens: at_least(DatasetArgs::RANDOM_OUTPUT_LEN, 0, args.random_output_len)?,
        prompt_format: pictured_text(backend),
    };
    Ok(spec)
}

/// Returns the format of texts that come with pictures. On a chat route the server renders them; on
/// any other route they are sent rendered.
fn pictured_text(backend: BackendName) -> PromptFormat {
    match backend.route() {
        Route::CHAT => PromptFormat::Raw,
        _ => PromptFormat::ChatTemplate,
    }
}

fn shaping(args: &DatasetArgs) -> Result<Shaping, CliError> {
    let mut shaping = Shaping::default();
    let output: Option<u32> = some_at_least(OUTPUT_LEN, 0, args.sharegpt_output_len)?;
    shaping.output_tokens =
        output.map(FixedOutput::new).transpose().map_err(refused(OUTPUT_LEN))?;
    shaping.context_tokens = context_tokens(args)?;
    shaping.prompt_suffix.clone_from(&args.prompt_suffix);
    if args.apply_chat_template {
        shaping.prompt_format = PromptFormat::ChatTemplate;
    }
    Ok(shaping)
}

fn mooncake(args: &DatasetArgs, replay: &TraceArgs) -> Result<MooncakeSpec, CliError> {
    let mut spec = MooncakeSpec {
        path: path(args),
        workload: match replay.mooncake_workload.as_str() {
            "mooncake" => MooncakeWorkload::Mooncake,
            "synthetic" => MooncakeWorkload::Synthetic,
            "toolagent" => MooncakeWorkload::Toolagent,
            _ => MooncakeWorkload::Conversation,
        },
        ..MooncakeSpec::default()
    };
    let rounds: u32 = at_least(TraceArgs::MOONCAKE_NUM_ROUNDS, 1, replay.mooncake_num_rounds)?;
    spec.rounds = NonZero::new(rounds).unwrap_or(spec.rounds);
    spec.prompts = replay.mooncake_prompts.unwrap_or(MooncakePrompts::Sglang);
    Ok(spec)
}

fn trace(format: TraceFormat, args: &DatasetArgs) -> DatasetSpec {
    DatasetSpec::Trace(TraceSpec::new(format, path(args)))
}

/// Returns `--sharegpt-context-len` in tokens. Zero means no limit, as in SGLang.
fn context_tokens(args: &DatasetArgs) -> Result<Option<NonZero<u32>>, CliError> {
    let limit = args.sharegpt_context_len.map(|limit| limit.min(u32::MAX.into()));
    let context: Option<u32> = some_at_least(DatasetArgs::SHAREGPT_CONTEXT_LEN, 0, limit)?;
    Ok(context.and_then(NonZero::new))
}

fn path(args: &DatasetArgs) -> Option<PathBuf> {
    (!args.dataset_path.is_empty()).then(|| args.dataset_path.clone().into())
}

const OUTPUT_LEN: Flag = DatasetArgs::SHAREGPT_OUTPUT_LEN;
