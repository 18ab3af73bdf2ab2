//! Turns the flags into the data set of a batch's prompts.

use std::num::NonZero;
use std::path::PathBuf;

use servemark_datasets::{
    BadLine, BatchLengths, BatchSource, BatchSpec, CustomSpec, DatasetSpec, LongBenchSpec,
    PromptForm, PromptFormat, RandomSpec, RangeRatio, Shaping, ShareGptSpec, SharedPrefixSpec,
    Source,
};

use super::args::OneBatchArgs;
use crate::error::CliError;
use crate::number::at_least;

/// Returns the prompts of a batch of `size` prompts. Each has `input` tokens if the data set lets
/// lengths be chosen, or its length from `lengths` if there is such a list.
pub(super) fn batch(
    args: &OneBatchArgs,
    size: u32,
    input: u32,
    output: u32,
    lengths: Option<Vec<u32>>,
) -> Result<BatchSpec, CliError> {
    let many = NonZero::new(size).unwrap_or(NonZero::<u32>::MIN);
    let mut batch = BatchSpec::new(many, dataset(args, many, input, output)?, output);
    if args.has_fixed_prompt() {
        let path = args.fixed_prompt_file.clone().into();
        batch.source = BatchSource::File { path, prompt_format: prompt_format(args) };
        return Ok(batch);
    }
    batch.lengths = match (lengths, args.dataset_name.as_str()) {
        (Some(lengths), _) => BatchLengths::Each(lengths),
        (None, "longbench_v2") => BatchLengths::Cut(input),
        _ => BatchLengths::Drawn,
    };
    Ok(batch)
}

/// Returns the output length in tokens: `output`, or for shared prefixes that of
/// `--gsp-output-len`.
pub(super) fn output_len(args: &OneBatchArgs, output: u32) -> Result<u32, CliError> {
    if args.dataset_name == "generated-shared-prefix" && !args.has_fixed_prompt() {
        return at_least(OneBatchArgs::GSP_OUTPUT_LEN, 1, args.gsp_output_len);
    }
    Ok(output)
}

fn dataset(
    args: &OneBatchArgs,
    size: NonZero<u32>,
    input: u32,
    output: u32,
) -> Result<DatasetSpec, CliError> {
    Ok(match args.dataset_name.as_str() {
        "generated-shared-prefix" => DatasetSpec::GeneratedSharedPrefix(shared_prefix(args, size)?),
        "sharegpt" => {
            let mut spec = ShareGptSpec::default();
            (spec.path, spec.shaping) = (path(args), shaping(args));
            DatasetSpec::Sharegpt(spec)
        }
        "custom" => {
            let mut spec = CustomSpec {
                on_bad_line: args.server.bad_lines.unwrap_or(BadLine::Skip),
                ..CustomSpec::default()
            };
            (spec.path, spec.shaping) = (path(args), shaping(args));
            DatasetSpec::Custom(spec)
        }
        "longbench_v2" => {
            let spec = LongBenchSpec {
                path: path(args),
                on_bad_line: args.server.bad_lines.unwrap_or_default(),
                ..LongBenchSpec::default()
            };
            DatasetSpec::LongBenchV2(spec)
        }
        "random-ids" => DatasetSpec::Random(random(Source::Vocabulary, input, output)),
        _ => DatasetSpec::Random(random(Source::Sharegpt { path: path(args) }, input, output)),
    })
}

fn random(source: Source, input: u32, output: u32) -> RandomSpec {
    let mut spec = RandomSpec { source, form: PromptForm::TokenIds, ..RandomSpec::default() };
    (spec.input_tokens, spec.output_tokens) = (input, output);
    spec.range_ratio = RangeRatio::FIXED;
    spec
}

/// Returns the shared prefixes of a batch: up to `--gsp-num-groups` groups, but no more than
/// prompts, with the same number of prompts each and together enough for the batch.
fn shared_prefix(args: &OneBatchArgs, size: NonZero<u32>) -> Result<SharedPrefixSpec, CliError> {
    let groups: NonZero<u32> =
        at_least::<u32>(OneBatchArgs::GSP_NUM_GROUPS, 1, args.gsp_num_groups)?
            .try_into()
            .unwrap_or(NonZero::<u32>::MIN);
    let groups = groups.min(size);
    let mut spec = SharedPrefixSpec { groups, ..SharedPrefixSpec::default() };
    let prompts = size.get().div_ceil(groups.get());
    spec.prompts_per_group = NonZero::new(prompts).unwrap_or(NonZero::<u32>::MIN);
    spec.system_tokens =
        at_least(OneBatchArgs::GSP_SYSTEM_PROMPT_LEN, 0, args.gsp_system_prompt_len)?;
    spec.question_tokens = at_least(OneBatchArgs::GSP_QUESTION_LEN, 0, args.gsp_question_len)?;
    spec.output_tokens = at_least(OneBatchArgs::GSP_OUTPUT_LEN, 1, args.gsp_output_len)?;
    Ok(spec)
}

fn shaping(args: &OneBatchArgs) -> Shaping {
    Shaping { prompt_format: prompt_format(args), ..Shaping::default() }
}

fn prompt_format(args: &OneBatchArgs) -> PromptFormat {
    if args.apply_chat_template { PromptFormat::ChatTemplate } else { PromptFormat::Raw }
}

fn path(args: &OneBatchArgs) -> Option<PathBuf> {
    (!args.dataset_path.is_empty()).then(|| args.dataset_path.clone().into())
}
