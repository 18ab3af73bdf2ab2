//! `--simulate`: a run against the bundled server that is worth looking at.
//!
//! What the user gives stands; the rest is chosen so that `--simulate` alone is over in a few
//! seconds and shows queueing, streaming and a spread of lengths.

use super::args::VllmArgs;
use crate::argparse::Given;

/// Chooses what the user left open.
pub(super) fn choose_the_rest(args: &mut VllmArgs, given: &Given) {
    if args.simulator.simulate.is_none() {
        return;
    }
    let open = |flag: &str| !given.is(flag);
    if open("--num-prompts") {
        args.dataset.num_prompts = 256;
    }
    if open("--random-input-len") {
        args.random.random_input_len = 128;
    }
    if open("--random-range-ratio") {
        "0.5".clone_into(&mut args.random.random_range_ratio);
    }
    if open("--request-rate") && open("--ramp-up-strategy") {
        args.load.request_rate = 64.0;
    }
}
