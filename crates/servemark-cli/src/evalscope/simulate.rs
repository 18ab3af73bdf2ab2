//! Defaults of `--simulate`, a run against the bundled server.
//!
//! Values that the user gives are kept. The others are chosen so that a run with `--simulate` alone
//! takes a few seconds and has meaningful tables.

use servemark_backends::EvalscopeApi;

use super::args::EvalscopeArgs;
use crate::argparse::Given;

/// Sets the flags that the user did not give.
pub(super) fn choose_the_rest(args: &mut EvalscopeArgs, given: &Given) {
    let Some(simulator) = &args.simulator.simulate else { return };
    let open = |flag: &str| !given.is(flag);
    if open("--model") {
        args.target.model = Some(simulator.clone().unwrap_or_default().model);
    }
    if open("--url") {
        args.target.url = format!("{HOST}{}", path(&args.target.api));
    }
    if open("--dataset") && open("--prompt") {
        "random".clone_into(&mut args.dataset.dataset);
    }
    let is_drawn = args.dataset.dataset.starts_with("random");
    if is_drawn && open("--max-prompt-length") && open("--min-prompt-length") {
        (args.prompt.min_prompt_length, args.prompt.max_prompt_length) = (64, 192);
    }
    if open("--number") && open("--parallel") && open("--rate") {
        args.load.number = Some(vec![32, 128]);
        args.load.parallel = vec![4, 16];
    }
    if open("--max-tokens") {
        args.sampling.max_tokens = vec![32];
    }
    if open("--sleep-interval") {
        args.load.sleep_interval = 0;
    }
}

/// Returns the path at which the simulator answers the requests of an API.
fn path(api: &str) -> &'static str {
    EvalscopeApi::of(api).unwrap_or(EvalscopeApi::Openai).path()
}

/// Start of the URL, which has no effect with the simulator.
const HOST: &str = "http://127.0.0.1:8877";
