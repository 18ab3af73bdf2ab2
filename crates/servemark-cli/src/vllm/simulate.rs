//! The defaults of `--simulate`, a run against the bundled server.
//!
//! Flags that were given keep their values. The others are set so that `--simulate` alone takes a
//! few seconds and shows queueing, streaming and a range of lengths.

use super::args::{DatasetArgs, LoadArgs, RandomArgs, VllmArgs};
use crate::argparse::{Flag, ParsedCommandLine};

/// Sets flags that were not given to values for a short run against the simulator.
pub(super) fn choose_the_rest(args: &mut VllmArgs, given: &ParsedCommandLine) {
    if args.simulator.simulate.is_none() {
        return;
    }
    let open = |flag: Flag| !given.is(flag);
    if open(DatasetArgs::NUM_PROMPTS) {
        args.dataset.num_prompts = 256;
    }
    if open(RandomArgs::RANDOM_INPUT_LEN) {
        args.random.random_input_len = 128;
    }
    if open(RandomArgs::RANDOM_RANGE_RATIO) {
        "0.5".clone_into(&mut args.random.random_range_ratio);
    }
    if open(LoadArgs::REQUEST_RATE) && open(LoadArgs::RAMP_UP_STRATEGY) {
        args.load.request_rate = 64.0;
    }
}
