//! Objectives and searches of `bench-embedding`, whose `--sweep` is a flag of its dialect.

use std::ffi::OsString;

use super::{NOT_BOTH, RequestedSweep, identity};
use crate::argparse::split_value;
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::{Invocation, embedding, slo};

/// Parses the command line of a benchmark of embeddings or rankings, whose grid has flags of its
/// own: one run, a grid of runs, or a search for the largest load.
pub fn embedding_bench(
    program: &str,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    let refuse = |error| UsageError::refused(program, error);
    let args: Vec<OsString> = args.into_iter().collect();
    let (args, asked) = RequestedSweep::beside_a_grid(args).map_err(refuse)?;
    let identity = identity(program, &without_grid_file(&asked.identifying));
    if asked.profile.is_some() {
        let when = "on embeddings and rankings, of which MLPerf has no Server scenario";
        return Err(refuse(CliError::NoEffect { flag: "--profile mlperf", when }));
    }
    let gate = asked.slo.gate().map_err(refuse)?;
    if asked.slo.is_search() {
        asked.refuse_in_a_search().map_err(refuse)?;
        slo::refuse_result_files(&args).map_err(refuse)?;
    }
    let mut sweep = embedding::parse(program, args, environment)?;
    for point in &mut sweep.points {
        asked.complete(&mut point.plan, gate.as_ref()).map_err(refuse)?;
    }
    if !asked.slo.is_search() {
        let when = if sweep.is_grid { "without --slo-search" } else { IDLE };
        let idle = |flag| CliError::NoEffect { flag, when };
        let found = asked.idle_beside_a_grid(sweep.is_grid);
        found.map_or(Ok(()), |flag| Err(refuse(idle(flag))))?;
        (sweep.folder, sweep.identity) = (asked.folder, identity);
        return Ok(Invocation::Sweep(Box::new(sweep)));
    }
    if sweep.is_grid {
        return Err(refuse(CliError::Together(NOT_BOTH)));
    }
    let search = asked.search(sweep.points.swap_remove(0), identity).map_err(refuse)?;
    Ok(Invocation::SloSearch(Box::new(search)))
}

/// Returns the arguments by which a grid is recognised when it is resumed: all but the file of its
/// table.
fn without_grid_file(args: &[OsString]) -> Vec<OsString> {
    let is_file = |arg: &OsString| arg.to_str().is_some_and(|arg| split_value(arg).0 == GRID_FILE);
    let (mut kept, mut args) = (Vec::new(), args.iter());
    while let Some(arg) = args.next() {
        if !is_file(arg) {
            kept.push(arg.clone());
        } else if arg == GRID_FILE {
            args.next();
        }
    }
    kept
}

const GRID_FILE: &str = "--grid-file";

const IDLE: &str = "without --slo-search, and without the grid of --sweep";

/// Help text about objectives, searches and known figures for answers without tokens.
pub(crate) const SEARCH_NOTES: &str = "\
Objectives: --slo OBJECTIVE[,OBJECTIVE] ... is what the run must keep to, such as e2el:p99<200ms, \
response_e2el:mean<100ms (from when a request was due), queue:p90<10ms or success>=99%; the exit code is \
0 if confidence bounds say that it does (--slo-confidence 95%), 3 if they say that it does not, and 6 if \
the run cannot tell or is not judged. With --slo-search request-rate or \
max-concurrency (or any number of the plan) the loads that keep them, that stay undecided and \
that miss them are found by doubling and bisection, with an estimate of the capacity; --slo \
NAME=OBJECTIVES ... gives a search several tiers: --slo-start N, --slo-bounds LOW,HIGH, --slo-precision 2%, --slo-requests N and \
--slo-duration SECONDS of the first round of a load at least, --slo-rounds N of a load at most, each \
twice as long as the one before it. Run logs of a search are \
kept in --sweep-folder PATH, its table is written to --sweep-file PATH (.csv, .html, .json, .md), \
--sweep-cool-down SECONDS parts its runs, and --sweep-same-prompts lets all have the same prompts.

Known figures: --until e2el:mean+-2%,requests_per_s+-1% ends a run when all of them are known with 95 % \
confidence; the number of requests stays its limit, and the exit code is 6 if it ends there before.";
