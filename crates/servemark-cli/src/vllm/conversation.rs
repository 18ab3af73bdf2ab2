//! Converts the flags of conversations of several turns (`--multi-turn`).

use std::num::{NonZero, NonZeroUsize};
use std::time::Duration;

use servemark_datasets::{
    ConversationSource, ConversationSpec, RandomTurnsSpec, ShareGptTurnsSpec,
};
use servemark_runner::{History, LoadSpec};

use super::args::{CorporaArgs, ExtrasArgs, RandomArgs, VllmArgs};
use super::rows::{path, several};
use crate::argparse::Flag;
use crate::error::CliError;
use crate::number::{at_least, some_at_least};

/// Returns the data set of conversations.
pub(super) fn spec(args: &VllmArgs) -> Result<ConversationSpec, CliError> {
    if args.target.backend != "openai-chat" {
        return Err(CliError::Together("--multi-turn takes --backend openai-chat"));
    }
    let source = match args.dataset.dataset_name.as_str() {
        "random" => ConversationSource::Random(random(args)?),
        "sharegpt" => ConversationSource::Sharegpt(sharegpt(args)?),
        _ => {
            return Err(CliError::Together("--multi-turn takes --dataset-name random or sharegpt"));
        }
    };
    let mut spec = ConversationSpec::new(source);
    let pause = at_least(ExtrasArgs::MULTI_TURN_DELAY_MS, 0, args.extras.multi_turn_delay_ms)?;
    spec.pause = Duration::from_millis(pause);
    spec.full_answers = !args.request.ignore_eos && !requests_least_tokens(args);
    Ok(spec)
}

/// Sets how turns contain the earlier ones, and the number of conversations in flight.
pub(super) fn apply(args: &VllmArgs, load: &mut LoadSpec) -> Result<(), CliError> {
    let extras = &args.extras;
    if !extras.multi_turn {
        return Ok(());
    }
    let limit: Option<usize> =
        some_at_least(ExtrasArgs::MULTI_TURN_CONCURRENCY, 1, extras.multi_turn_concurrency)?;
    load.max_concurrency = limit.and_then(NonZeroUsize::new).or(load.max_concurrency);
    let shares =
        [extras.multi_turn_prefix_global_ratio, extras.multi_turn_prefix_conversation_ratio];
    if shares.iter().any(|&share| share > 0.0) {
        load.sessions.history = History::Left;
    }
    Ok(())
}

fn requests_least_tokens(args: &VllmArgs) -> bool {
    args.request.extra_body.as_ref().is_some_and(|body| body.get("min_tokens").is_some())
}

fn random(args: &VllmArgs) -> Result<RandomTurnsSpec, CliError> {
    let (extras, short, random) = (&args.extras, &args.dataset, &args.random);
    let input = short.input_len.unwrap_or(random.random_input_len);
    let output = short.output_len.unwrap_or(random.random_output_len);
    let turns = several(ExtrasArgs::MULTI_TURN_NUM_TURNS, extras.multi_turn_num_turns)?;
    let mut spec = RandomTurnsSpec {
        fewest: turns_or(ExtrasArgs::MULTI_TURN_MIN_TURNS, extras.multi_turn_min_turns, turns)?,
        most: turns_or(ExtrasArgs::MULTI_TURN_MAX_TURNS, extras.multi_turn_max_turns, turns)?,
        first_tokens: at_least(RandomArgs::RANDOM_INPUT_LEN, 1, input)?,
        ..RandomTurnsSpec::default()
    };
    let later: u32 = at_least(ExtrasArgs::PER_TURN_INPUT_LEN, 0, extras.per_turn_input_len)?;
    spec.later_tokens = if later == 0 { spec.first_tokens } else { later };
    spec.output_tokens = at_least(RandomArgs::RANDOM_OUTPUT_LEN, 1, output)?;
    spec.shared_by_all =
        share(ExtrasArgs::MULTI_TURN_PREFIX_GLOBAL_RATIO, extras.multi_turn_prefix_global_ratio)?;
    spec.shared_within = share(
        ExtrasArgs::MULTI_TURN_PREFIX_CONVERSATION_RATIO,
        extras.multi_turn_prefix_conversation_ratio,
    )?;
    if spec.fewest > spec.most {
        return Err(CliError::setting(ExtrasArgs::MULTI_TURN_MIN_TURNS, "is above the most turns"));
    }
    Ok(spec)
}

fn sharegpt(args: &VllmArgs) -> Result<ShareGptTurnsSpec, CliError> {
    let mut spec = ShareGptTurnsSpec { path: path(&args.dataset), ..ShareGptTurnsSpec::default() };
    let output = args.dataset.output_len.or(args.corpora.sharegpt_output_len);
    spec.output_tokens = some_at_least(CorporaArgs::SHAREGPT_OUTPUT_LEN, 1, output)?;
    let most = at_least(ExtrasArgs::MULTI_TURN_MAX_TURNS, 0, args.extras.multi_turn_max_turns)?;
    spec.most = NonZero::new(most);
    Ok(spec)
}

/// Returns a number of turns; zero stands for the default.
fn turns_or(flag: Flag, turns: i64, otherwise: NonZero<u32>) -> Result<NonZero<u32>, CliError> {
    let turns: u32 = at_least(flag, 0, turns)?;
    Ok(NonZero::new(turns).unwrap_or(otherwise))
}

fn share(flag: Flag, share: f64) -> Result<f64, CliError> {
    let fits = (0.0..=1.0).contains(&share);
    fits.then_some(share).ok_or_else(|| CliError::setting(flag, "must lie in 0 to 1"))
}
