//! The data set `generated-shared-prefix`: groups of prompts with the same beginning.

use std::num::NonZero;

use servemark_backends::{BackendName, Route};
use servemark_datasets::{
    Counting, GroupOrder, Popularity, PromptForm, RangeRatio, SharedPrefixSpec, ZipfAlpha,
};

use super::args::SharedPrefixArgs;
use crate::argparse::Flag;
use crate::environment::Environment;
use crate::error::CliError;
use crate::number::{at_least, refused};

/// Returns the data set `generated-shared-prefix` with its settings.
pub(super) fn spec(
    args: &SharedPrefixArgs,
    (form, seed): (PromptForm, u32),
    environment: &Environment,
    backend: BackendName,
) -> Result<SharedPrefixSpec, CliError> {
    let mut spec = SharedPrefixSpec {
        groups: several(SharedPrefixArgs::GSP_NUM_GROUPS, args.gsp_num_groups)?,
        ..SharedPrefixSpec::default()
    };
    spec.prompts_per_group =
        several(SharedPrefixArgs::GSP_PROMPTS_PER_GROUP, args.gsp_prompts_per_group)?;
    spec.turns = several(SharedPrefixArgs::GSP_NUM_TURNS, args.gsp_num_turns)?;
    spec.system_tokens =
        at_least(SharedPrefixArgs::GSP_SYSTEM_PROMPT_LEN, 0, args.gsp_system_prompt_len)?;
    spec.question_tokens = at_least(SharedPrefixArgs::GSP_QUESTION_LEN, 0, args.gsp_question_len)?;
    spec.output_tokens = at_least(SharedPrefixArgs::GSP_OUTPUT_LEN, 0, args.gsp_output_len)?;
    let ratio = RangeRatio::new(args.gsp_range_ratio);
    spec.range_ratio = ratio.map_err(refused(SharedPrefixArgs::GSP_RANGE_RATIO))?;
    spec.popularity = popularity(args, seed)?;
    spec.order = if args.gsp_ordered { GroupOrder::Drawn } else { GroupOrder::Shuffled };
    spec.form = form;
    spec.counting = if args.gsp_fast_prepare { Counting::Skipped } else { Counting::Exact };
    let sends_key = args.gsp_send_routing_key && takes_routing_key(backend);
    spec.routing_run = sends_key.then(|| environment.run_name());
    Ok(spec)
}

/// Returns whether SGLang's client sends a routing key to this backend.
pub(super) fn takes_routing_key(backend: BackendName) -> bool {
    !matches!(backend.route(), Route::TRT | Route::TRUSS)
}

fn popularity(args: &SharedPrefixArgs, seed: u32) -> Result<Popularity, CliError> {
    let Some(alpha) = args.gsp_zipf_alpha else { return Ok(Popularity::Uniform) };
    let alpha = ZipfAlpha::new(alpha).map_err(refused(SharedPrefixArgs::GSP_ZIPF_ALPHA))?;
    Ok(Popularity::Zipf { alpha, seed })
}

fn several(flag: Flag, count: i64) -> Result<NonZero<u32>, CliError> {
    let count: u32 = at_least(flag, 1, count)?;
    Ok(NonZero::new(count).unwrap_or(NonZero::<u32>::MIN))
}
