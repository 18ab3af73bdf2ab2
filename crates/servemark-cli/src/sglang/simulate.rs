//! The defaults of `--simulate`, a run against the bundled server.
//!
//! Flags that were given keep their values. The others are set so that `--simulate` alone takes
//! about six seconds and shows queueing, streaming and a range of lengths.

use super::args::{DatasetArgs, LoadArgs, SglangArgs};
use crate::argparse::{Flag, ParsedCommandLine};

/// Sets the defaults of `--simulate` for flags that were not given; does nothing without
/// `--simulate`.
pub(super) fn choose_the_rest(args: &mut SglangArgs, given: &ParsedCommandLine) {
    if args.simulator.simulate.is_none() {
        return;
    }
    let open = |flag: Flag| !given.is(flag);
    if open(DatasetArgs::DATASET_NAME) && open(DatasetArgs::DATASET_PATH) {
        "random-ids".clone_into(&mut args.dataset.dataset_name);
    }
    if open(DatasetArgs::NUM_PROMPTS) {
        args.dataset.num_prompts = 256;
    }
    if open(DatasetArgs::RANDOM_INPUT_LEN) {
        args.dataset.random_input_len = 128;
    }
    if open(DatasetArgs::RANDOM_OUTPUT_LEN) {
        args.dataset.random_output_len = 128;
    }
    if open(DatasetArgs::RANDOM_RANGE_RATIO) {
        args.dataset.random_range_ratio = 0.5;
    }
    if open(LoadArgs::REQUEST_RATE) {
        args.load.request_rate = 64.0;
    }
    args.own.include_usage = true;
}
