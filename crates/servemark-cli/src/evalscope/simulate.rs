//! Defaults of `--simulate`, a run against the bundled server.
//!
//! Values that the user gives are kept. The others are chosen so that a run with `--simulate` alone
//! takes a few seconds and has meaningful tables.

use servemark_backends::EvalscopeApi;

use super::args::{DatasetArgs, EvalscopeArgs, LoadArgs, PromptArgs, SamplingArgs, TargetArgs};
use crate::argparse::{Flag, ParsedCommandLine};

/// Sets the flags that the user did not give.
pub(super) fn choose_the_rest(args: &mut EvalscopeArgs, given: &ParsedCommandLine) {
    let Some(simulator) = &args.simulator.simulate else { return };
    let open = |flag: Flag| !given.is(flag);
    if open(TargetArgs::MODEL) {
        args.target.model = Some(simulator.clone().unwrap_or_default().model);
    }
    if open(TargetArgs::URL) {
        args.target.url = format!("{HOST}{}", path(&args.target.api));
    }
    if open(DatasetArgs::DATASET) && open(PromptArgs::PROMPT) {
        "random".clone_into(&mut args.dataset.dataset);
    }
    let is_drawn = args.dataset.dataset.starts_with("random");
    if is_drawn && open(PromptArgs::MAX_PROMPT_LENGTH) && open(PromptArgs::MIN_PROMPT_LENGTH) {
        (args.prompt.min_prompt_length, args.prompt.max_prompt_length) = (64, 192);
    }
    if open(LoadArgs::NUMBER) && open(LoadArgs::PARALLEL) && open(LoadArgs::RATE) {
        args.load.number = Some(vec![32, 128]);
        args.load.parallel = vec![4, 16];
    }
    if open(SamplingArgs::MAX_TOKENS) {
        args.sampling.max_tokens = vec![32];
    }
    if open(LoadArgs::SLEEP_INTERVAL) {
        args.load.sleep_interval = 0;
    }
}

/// Returns the path at which the simulator answers the requests of an API.
fn path(api: &str) -> &'static str {
    EvalscopeApi::of(api).unwrap_or(EvalscopeApi::Openai).path()
}

/// Start of the URL, which has no effect with the simulator.
const HOST: &str = "http://127.0.0.1:8877";
