//! Finds flags that would have no effect. The limits on each flag stand where the flag is declared,
//! in [`args`](super::args).

use super::args::AisbenchArgs;
use crate::argparse::{Effects, ParsedCommandLine};
use crate::error::CliError;

/// Refuses modes other than the performance modes, and Servemark's own flags that have no effect.
/// Warns of AISBench's flags that have no effect.
pub(super) fn check(
    args: &AisbenchArgs,
    given: &ParsedCommandLine,
    warnings: &mut Vec<String>,
) -> Result<(), CliError> {
    if !["perf", "perf_viz"].contains(&args.mode.as_str()) {
        let why = format!("{} measures no performance; servemark has -m perf alone", args.mode);
        return Err(CliError::setting(AisbenchArgs::MODE, why));
    }
    Effects::of(given).check(AisbenchArgs::GROUPS, warnings)
}
