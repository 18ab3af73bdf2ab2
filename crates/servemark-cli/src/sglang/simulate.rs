//! The defaults of `--simulate`, a run against the bundled server.
//!
//! Flags that were given keep their values. The others are set so that `--simulate` alone takes
//! about six seconds and shows queueing, streaming and a range of lengths.

use super::args::SglangArgs;
use crate::argparse::Given;

/// Sets the defaults of `--simulate` for flags that were not given; does nothing without
/// `--simulate`.
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
