//! Conversions that several data sets share: files, lengths and formats of prompts.

use std::num::NonZero;
use std::path::PathBuf;

use servemark_datasets::{CustomOutput, PromptFormat, RowOrder, TooFewRows, VllmLengths};

use super::args::{CorporaArgs, DatasetArgs, RandomArgs, VllmArgs};
use super::range_ratio::spreads;
use crate::argparse::Flag;
use crate::error::CliError;
use crate::number::at_least;

/// Returns the lengths of drawn prompts and their outputs.
pub(super) fn lengths(args: &VllmArgs) -> Result<VllmLengths, CliError> {
    let (random, short) = (&args.random, &args.dataset);
    let spreads = spreads(RandomArgs::RANDOM_RANGE_RATIO, &random.random_range_ratio)?;
    let mut lengths = VllmLengths::default();
    let input = short.input_len.unwrap_or(random.random_input_len);
    let output = short.output_len.unwrap_or(random.random_output_len);
    lengths.input_tokens = at_least(RandomArgs::RANDOM_INPUT_LEN, 0, input)?;
    lengths.output_tokens = at_least(RandomArgs::RANDOM_OUTPUT_LEN, 0, output)?;
    lengths.input_spread = spreads.input;
    lengths.output_spread = spreads.output;
    Ok(lengths)
}

/// Returns the output length for prompts from the user's file.
pub(super) fn custom_output(args: &VllmArgs) -> Result<CustomOutput, CliError> {
    Ok(match args.dataset.output_len.unwrap_or(args.corpora.custom_output_len) {
        -1 => CustomOutput::OfRow,
        tokens => CustomOutput::Fixed(at_least(CorporaArgs::CUSTOM_OUTPUT_LEN, 0, tokens)?),
    })
}

pub(super) fn path(args: &DatasetArgs) -> Option<PathBuf> {
    args.dataset_path.as_ref().map(Into::into)
}

pub(super) fn order(args: &DatasetArgs) -> RowOrder {
    if args.disable_shuffle { RowOrder::AsRead } else { RowOrder::Shuffled }
}

pub(super) fn too_few(args: &DatasetArgs) -> TooFewRows {
    if args.no_oversample { TooFewRows::Keep } else { TooFewRows::Repeat }
}

pub(super) fn prompt_format(args: &DatasetArgs) -> PromptFormat {
    if args.skip_chat_template { PromptFormat::Raw } else { PromptFormat::ChatTemplate }
}

pub(super) fn several(flag: Flag, count: i64) -> Result<NonZero<u32>, CliError> {
    let count: u32 = at_least(flag, 1, count)?;
    Ok(NonZero::new(count).unwrap_or(NonZero::<u32>::MIN))
}
