//! Converts the flags of the data sets.

use serde_json::Value;
use servemark_core::JsonObject;
use servemark_datasets::{
    CustomLayout, CustomOutput, DatasetSpec, PrefixRepetitionSpec, PromptFormat, RerankMode,
    TimedTraceSpec, VllmBurstgptSpec, VllmCustomSpec, VllmData, VllmRandomSpec, VllmRerankSpec,
    VllmShareGptSpec, VllmSpec,
};
use servemark_plan::WorkloadSpec;

use super::args::{CorporaArgs, DatasetArgs, ExtrasArgs, RandomArgs, TimedTraceArgs, VllmArgs};
use super::range_ratio::spreads;
use super::rows::{custom_output, lengths, order, path, prompt_format, several, too_few};
use super::{conversation, media, token_ids};
use crate::environment::Environment;
use crate::error::CliError;
use crate::number::{at_least, some_at_least};

/// Returns the data set with its settings, and the number of requests.
pub(super) fn workload(
    args: &VllmArgs,
    environment: &Environment,
) -> Result<WorkloadSpec, CliError> {
    let seed = at_least(DatasetArgs::SEED, 0, args.dataset.seed)?;
    let mut spec = VllmSpec::new(data(args)?);
    spec.seed = seed;
    spec.request_ids = Some(request_ids(&args.dataset, environment));
    spec.most_tokens = some_at_least(ExtrasArgs::MAX_MODEL_LEN, 1, args.extras.max_model_len)?;
    let requests = prompts(&args.dataset)?;
    let mut workload = WorkloadSpec::new(DatasetSpec::Vllm(spec), requests);
    workload.seed = seed;
    Ok(workload)
}

/// Returns the requested number of prompts. For the data sets of [`ALL_IF_NONE`] it may be 0, which
/// uses all rows.
fn prompts(args: &DatasetArgs) -> Result<usize, CliError> {
    let all = ALL_IF_NONE.contains(&args.dataset_name.as_str());
    let requested = if all { args.num_prompts.max(0) } else { args.num_prompts };
    at_least(DatasetArgs::NUM_PROMPTS, i64::from(!all), requested)
}

/// Data sets of which all rows are used if the requested number of prompts is 0.
const ALL_IF_NONE: [&str; 5] =
    ["custom", "custom_audio", "custom_image", "spec_bench", "speed_bench"];

fn request_ids(args: &DatasetArgs, environment: &Environment) -> String {
    let drawn = || format!("bench-{}-", environment.nonce());
    args.request_id_prefix.clone().unwrap_or_else(drawn)
}

fn data(args: &VllmArgs) -> Result<VllmData, CliError> {
    if args.extras.multi_turn {
        return conversation::spec(args).map(VllmData::Conversations);
    }
    Ok(match args.dataset.dataset_name.as_str() {
        "burstgpt" => VllmData::Burstgpt(burstgpt(args)),
        "custom" => VllmData::Custom(custom(args)?),
        "custom_audio" => VllmData::CustomAudio(media::custom_audio(args)?),
        "custom_image" => VllmData::CustomImage(media::custom_image(args)?),
        "hf" => VllmData::Hub(media::hub(args)?),
        "prefix_repetition" => VllmData::PrefixRepetition(prefix_repetition(args)?),
        "random" => VllmData::Random(random(args)?),
        "random-mm" => VllmData::RandomMm(media::random_mm(args)?),
        "random-rerank" => VllmData::RandomRerank(rerank(args)?),
        "sharegpt" => VllmData::Sharegpt(sharegpt(args)?),
        "spec_bench" => VllmData::Custom(spec_bench(args)?),
        "speed_bench" => VllmData::Custom(speed_bench(args)?),
        "timed_trace" => VllmData::TimedTrace(timed_trace(args)?),
        other => return Err(CliError::not_built(format!("--dataset-name {other}"))),
    })
}

fn random(args: &VllmArgs) -> Result<VllmRandomSpec, CliError> {
    let random = &args.random;
    let mut spec = VllmRandomSpec {
        lengths: lengths(args)?,
        prefix_tokens: at_least(RandomArgs::RANDOM_PREFIX_LEN, 0, random.random_prefix_len)?,
        // A number below 1 counts as 1, as in vLLM.
        batch: several(RandomArgs::RANDOM_BATCH_SIZE, random.random_batch_size.max(1))?,
        ..VllmRandomSpec::default()
    };
    token_ids::apply(args, &mut spec)?;
    Ok(spec)
}

fn rerank(args: &VllmArgs) -> Result<VllmRerankSpec, CliError> {
    let random = &args.random;
    let mut spec = VllmRerankSpec::default();
    let input = args.dataset.input_len.unwrap_or(random.random_input_len);
    spec.input_tokens = at_least(RandomArgs::RANDOM_INPUT_LEN, 0, input)?;
    spec.spread = spreads(RandomArgs::RANDOM_RANGE_RATIO, &random.random_range_ratio)?.input;
    spec.batch = several(RandomArgs::RANDOM_BATCH_SIZE, random.random_batch_size)?;
    spec.as_texts = args.target.backend != "vllm-rerank";
    spec.mode = if random.no_reranker { RerankMode::Each } else { RerankMode::Pair };
    Ok(spec)
}

fn prefix_repetition(args: &VllmArgs) -> Result<PrefixRepetitionSpec, CliError> {
    let random = &args.random;
    let mut spec = PrefixRepetitionSpec {
        prefixes: several(
            RandomArgs::PREFIX_REPETITION_NUM_PREFIXES,
            random.prefix_repetition_num_prefixes,
        )?,
        prefix_tokens: at_least(
            RandomArgs::PREFIX_REPETITION_PREFIX_LEN,
            0,
            random.prefix_repetition_prefix_len,
        )?,
        suffix_tokens: at_least(
            RandomArgs::PREFIX_REPETITION_SUFFIX_LEN,
            0,
            random.prefix_repetition_suffix_len,
        )?,
        ..PrefixRepetitionSpec::default()
    };
    let output = args.dataset.output_len.unwrap_or(random.prefix_repetition_output_len);
    spec.output_tokens = at_least(RandomArgs::PREFIX_REPETITION_OUTPUT_LEN, 0, output)?;
    spec.order = order(&args.dataset);
    Ok(spec)
}

fn sharegpt(args: &VllmArgs) -> Result<VllmShareGptSpec, CliError> {
    let mut spec = VllmShareGptSpec { path: path(&args.dataset), ..VllmShareGptSpec::default() };
    let output = args.dataset.output_len.or(args.corpora.sharegpt_output_len);
    spec.output_tokens = some_at_least(CorporaArgs::SHAREGPT_OUTPUT_LEN, 0, output)?;
    spec.shape = media::shape(args);
    spec.order = order(&args.dataset);
    spec.too_few = too_few(&args.dataset);
    Ok(spec)
}

fn burstgpt(args: &VllmArgs) -> VllmBurstgptSpec {
    VllmBurstgptSpec { path: path(&args.dataset) }
}

fn custom(args: &VllmArgs) -> Result<VllmCustomSpec, CliError> {
    let mut spec = rows(&args.dataset, CustomLayout::Prompts);
    spec.output = custom_output(args)?;
    spec.template_arguments = template_arguments(&args.dataset)?;
    spec.prompt_format = prompt_format(&args.dataset);
    // Without a tokenizer vLLM sends rows unchanged and asks for one token, whatever the flags say.
    if args.target.skip_tokenizer_init {
        spec.prompt_format = PromptFormat::Raw;
        spec.output = CustomOutput::Fixed(1);
    }
    Ok(spec)
}

fn template_arguments(args: &DatasetArgs) -> Result<JsonObject, CliError> {
    match args.chat_template_kwargs.clone() {
        None | Some(Value::Null) => Ok(JsonObject::new()),
        Some(Value::Object(object)) => Ok(object),
        Some(other) => {
            let why = format!("must be a JSON object, such as {{\"tools\": []}}, not {other}");
            Err(CliError::setting(DatasetArgs::CHAT_TEMPLATE_KWARGS, why))
        }
    }
}

/// Returns `spec_bench`, whose prompts are always rendered with the chat template.
fn spec_bench(args: &VllmArgs) -> Result<VllmCustomSpec, CliError> {
    let category = args.corpora.spec_bench_category.clone();
    let output = args.dataset.output_len.unwrap_or(args.corpora.spec_bench_output_len);
    let mut spec = rows(&args.dataset, CustomLayout::SpecBench { category });
    spec.output = CustomOutput::Fixed(at_least(CorporaArgs::SPEC_BENCH_OUTPUT_LEN, 0, output)?);
    Ok(spec)
}

fn speed_bench(args: &VllmArgs) -> Result<VllmCustomSpec, CliError> {
    let corpora = &args.corpora;
    let subset = corpora.speed_bench_dataset_subset.clone();
    let category = corpora.speed_bench_category.clone();
    let mut spec = rows(&args.dataset, CustomLayout::SpeedBench { subset, category });
    let most = args.extras.speed_bench_max_input_len;
    spec.most_prompt_tokens = some_at_least(ExtrasArgs::SPEED_BENCH_MAX_INPUT_LEN, 1, most)?;
    let output = corpora.speed_bench_output_len;
    spec.output = CustomOutput::Fixed(at_least(CorporaArgs::SPEED_BENCH_OUTPUT_LEN, 0, output)?);
    spec.template_arguments = template_arguments(&args.dataset)?;
    spec.prompt_format = prompt_format(&args.dataset);
    Ok(spec)
}

fn rows(args: &DatasetArgs, layout: CustomLayout) -> VllmCustomSpec {
    VllmCustomSpec {
        path: path(args),
        layout,
        order: order(args),
        too_few: too_few(args),
        ..VllmCustomSpec::default()
    }
}

fn timed_trace(args: &VllmArgs) -> Result<TimedTraceSpec, CliError> {
    let trace = &args.timed_trace;
    let mut spec = TimedTraceSpec { path: path(&args.dataset), ..TimedTraceSpec::default() };
    spec.block_tokens =
        several(TimedTraceArgs::TIMED_TRACE_CHUNK_HASH_SIZE, trace.timed_trace_chunk_hash_size)?;
    spec.seconds = trace.timed_trace_sec_multiplier;
    spec.labels.timestamp.clone_from(&trace.timed_trace_label_timestamp);
    spec.labels.input_length.clone_from(&trace.timed_trace_label_input_length);
    spec.labels.output_length.clone_from(&trace.timed_trace_label_output_length);
    spec.labels.hash_ids.clone_from(&trace.timed_trace_label_hash_ids);
    Ok(spec)
}
