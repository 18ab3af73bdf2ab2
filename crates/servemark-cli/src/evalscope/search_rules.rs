//! evalscope's rules between the flags of a search.

use serde_json::Value;

use super::args::SlaArgs;
use crate::error::CliError;

/// Checks the flags of a search. evalscope makes these checks before all others of them.
pub(super) fn check(args: &SlaArgs) -> Result<(), CliError> {
    check_list(args)?;
    if !args.sla_auto_tune {
        return Ok(());
    }
    let is_empty = match &args.sla_params {
        None | Some(Value::Null) => true,
        Some(Value::Array(groups)) => groups.is_empty(),
        Some(_) => false,
    };
    let bounds_fit = args.sla_lower_bound >= 1 && args.sla_upper_bound >= args.sla_lower_bound;
    let multiplier = args.sla_number_multiplier.unwrap_or(2.0);
    CliError::first_broken([
        (is_empty, "--sla-params requires at least one non-empty criterion group"),
        (args.sla_num_runs < 1, "--sla-num-runs must be >= 1"),
        (!bounds_fit, "--sla-lower-bound and --sla-upper-bound must satisfy 1 <= lower <= upper"),
        (
            args.sla_fixed_parallel.is_some_and(|limit| limit < 1),
            "--sla-fixed-parallel must be >= 1",
        ),
        (
            !multiplier.is_finite() || multiplier <= 0.0,
            "--sla-number-multiplier must be finite and > 0",
        ),
    ])
}

/// Refuses `--sla-params` that are no list, whether the run is a search or not. evalscope's help
/// promises that an object is read, too, but evalscope refuses it.
fn check_list(args: &SlaArgs) -> Result<(), CliError> {
    match &args.sla_params {
        None | Some(Value::Null | Value::Array(_)) => Ok(()),
        Some(other) => Err(CliError::setting(
            SlaArgs::SLA_PARAMS,
            format!("must be a list of objects, such as [{{\"p99_ttft\": \"<200\"}}], not {other}"),
        )),
    }
}
