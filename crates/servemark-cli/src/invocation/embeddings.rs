//! Objectives and searches of `bench-embedding`, whose `--sweep` is a flag of its dialect.

use std::ffi::OsString;

use super::Invocation;
use crate::argparse::split_value;
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::sglang::RESULT_FILES;
use crate::sglang::embedding::{self, GRID_FILE};
use crate::sweep::{NOT_BOTH, RequestedSweep, identity};
use crate::{profile, slo};

/// Parses the command line of a benchmark of embeddings or rankings, whose grid has flags of its
/// own: one run, a grid of runs, or a search for the largest load.
pub fn embedding_bench(
    program: &str,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    let refuse = |error| UsageError::refused(program, error);
    let args: Vec<OsString> = args.into_iter().collect();
    let (args, requested) = RequestedSweep::beside_a_grid(args).map_err(refuse)?;
    let identity = identity(program, &without_grid_file(&requested.identifying));
    if requested.profile.is_some() {
        let when = "on embeddings and rankings, of which MLPerf has no Server scenario";
        return Err(refuse(CliError::no_effect(profile::MLPERF, when)));
    }
    let gate = requested.slo.gate().map_err(refuse)?;
    if requested.slo.is_search() {
        requested.refuse_in_a_search().map_err(refuse)?;
        slo::refuse_result_files(&args, RESULT_FILES).map_err(refuse)?;
    }
    let mut sweep = embedding::parse(program, args, environment)?;
    for point in &mut sweep.points {
        requested.complete(&mut point.plan, gate.as_ref()).map_err(refuse)?;
    }
    if !requested.slo.is_search() {
        let when = if sweep.is_grid { "without --slo-search" } else { IDLE };
        let idle = |flag| CliError::no_effect(flag, when);
        let found = requested.idle_beside_a_grid(sweep.is_grid);
        found.map_or(Ok(()), |flag| Err(refuse(idle(flag))))?;
        sweep.folder = requested.folder_of(sweep.folder).map_err(refuse)?;
        sweep.identity = identity;
        return Ok(Invocation::Sweep(Box::new(sweep)));
    }
    if sweep.is_grid {
        return Err(refuse(CliError::Together(NOT_BOTH)));
    }
    let search = requested.search(sweep.points.swap_remove(0), identity).map_err(refuse)?;
    Ok(Invocation::SloSearch(Box::new(search)))
}

/// Returns the arguments by which a grid is recognised when it is resumed: all but the file of its
/// table.
fn without_grid_file(args: &[OsString]) -> Vec<OsString> {
    let is_file =
        |arg: &OsString| arg.to_str().is_some_and(|arg| split_value(arg).0 == GRID_FILE.name());
    let (mut kept, mut args) = (Vec::new(), args.iter());
    while let Some(arg) = args.next() {
        if !is_file(arg) {
            kept.push(arg.clone());
        } else if arg == GRID_FILE.name() {
            args.next();
        }
    }
    kept
}

const IDLE: &str = "without --slo-search, and without the grid of --sweep";
