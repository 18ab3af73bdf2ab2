//! `--simulate`: the bundled server, and a run against it that is worth looking at.
//!
//! What the user gives stands; the rest is chosen so that `--simulate` alone is over in about six
//! seconds and shows queueing, streaming and a spread of lengths.

use super::args::SglangArgs;
use crate::argparse::Given;

/// Chooses what the user left open.
pub(super) fn choose_the_rest(args: &mut SglangArgs, given: &Given) {
    if args.simulator.simulate.is_none() {
        return;
    }
    let open = |flag: &str| !given.is(flag);
    if open("--dataset-name") && open("--dataset-path") {
        "random-ids".clone_into(&mut args.dataset.dataset_name);
    }
    if open("--num-prompts") {
        args.dataset.num_prompts = 256;
    }
    if open("--random-input-len") {
        args.dataset.random_input_len = 128;
    }
    if open("--random-output-len") {
        args.dataset.random_output_len = 128;
    }
    if open("--random-range-ratio") {
        args.dataset.random_range_ratio = 0.5;
    }
    if open("--request-rate") {
        args.load.request_rate = 64.0;
    }
    args.own.include_usage = true;
}
