//! Finds flags that would have no effect.
//!
//! evalscope accepts flags of data sets and modes that are not in use. Servemark accepts them too,
//! with a warning. Servemark's own flags without effect are refused as mistakes. The limits on each
//! flag stand where the flag is declared, in [`args`](super::args).

use super::args::{DatasetArgs, EvalscopeArgs, SlaArgs, TargetArgs};
use crate::address::is_encrypted;
use crate::argparse::{Effects, ParsedCommandLine};
use crate::error::CliError;

/// Refuses Servemark's own flags that have no effect, and warns of evalscope's.
pub(super) fn check(
    args: &EvalscopeArgs,
    given: &ParsedCommandLine,
    warnings: &mut Vec<String>,
) -> Result<(), CliError> {
    let dataset = if args.own_prompt().is_some() { "" } else { &args.dataset.dataset };
    let effects = Effects::of(given)
        .with(DatasetArgs::DATASET, dataset)
        .with(TargetArgs::API, &args.target.api)
        .with(SlaArgs::SLA_VARIABLE, &args.sla.sla_variable)
        .encrypted(is_encrypted(&args.target.url));
    if args.sla.sla_auto_tune {
        args.until.refuse("with --sla-auto-tune, whose runs have a set number of requests")?;
    }
    effects.check(EvalscopeArgs::GROUPS, warnings)
}
