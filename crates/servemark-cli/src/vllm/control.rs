//! Converts the flags that control the server around the measurement.

use std::time::Duration;

use servemark_plan::{ControlSpec, ProfileSpec};

use super::args::{ExtrasArgs, TargetArgs, VllmArgs};
use super::rows::several;
use crate::error::CliError;
use crate::number::at_least;

/// Returns the settings of the first request, which is repeated until the server is ready, and of
/// the profiler.
pub(super) fn control(args: &VllmArgs) -> Result<ControlSpec, CliError> {
    let mut control =
        ControlSpec { ready_timeout: Duration::ZERO, counters: true, ..ControlSpec::default() };
    // A negative time counts as zero, as in vLLM.
    let patience = args.target.ready_check_timeout_sec.max(0);
    let patience: u64 = at_least(TargetArgs::READY_CHECK_TIMEOUT_SEC, 0, patience)?;
    control.first_request = (patience > 0).then(|| Duration::from_secs(patience));
    let is_drawn = ["random", "prefix_repetition"].contains(&args.dataset.dataset_name.as_str());
    // The simulator counts no tokens.
    let can_count = args.simulator.simulate.is_none();
    let extras = &args.extras;
    control.align_prompts = is_drawn && can_count && !extras.multi_turn && !extras.prompt_token_ids;
    control.align_sample = several(ExtrasArgs::ALIGN_SAMPLE, extras.align_sample)?;
    control.flush_cache = extras.reset_prefix_cache.then_some(FLUSH);
    control.profile = args.load.profile.then(ProfileSpec::bare);
    args.telemetry.apply(&mut control)?;
    Ok(control)
}

/// Time-out for emptying the cache: the server first finishes the running requests.
const FLUSH: Duration = Duration::from_secs(60);
