//! Runs the commands.

use std::path::PathBuf;

use servemark::core::RunLogError;
use servemark::{CompareError, ExecuteError, ExitCode, ProcessError, RankError, SweepRunError};
use servemark_cli::{CliError, ClusterArgs, Dialect, Invocation};

use crate::{cluster, failures, outputs, screen};

/// Runs a command and returns its exit code.
pub(crate) fn invoked(
    invocation: Invocation,
    cluster: Option<&ClusterArgs>,
    files_read: &[PathBuf],
) -> ExitCode {
    // Errors of AISBench's command begin with the name of its program, here as in the parser.
    let speaker = if invocation.dialect() == Dialect::Aisbench { "ais_bench: " } else { "" };
    screen::set_dialect(invocation.dialect());
    if invocation.prints_document() {
        screen::print_only_document();
    }
    let checked = outputs::check(&invocation, files_read);
    let done = checked.and_then(|()| match cluster {
        Some(cluster) => cluster::run(cluster, invocation, dispatch),
        None => dispatch(invocation),
    });
    let code = done.unwrap_or_else(|error| {
        screen::eprint_line(&format!("{speaker}error: {error:#}"));
        exit_code_of(&error)
    });
    failures::print_count();
    screen::final_code(code)
}

fn dispatch(invocation: Invocation) -> anyhow::Result<ExitCode> {
    match invocation {
        Invocation::Bench(parsed) => crate::bench::bench(&parsed),
        #[cfg(feature = "commands")]
        Invocation::Command(command) => crate::commands::run(command),
        Invocation::Offline(offline) => crate::offline::bench(&offline),
        Invocation::SloSearch(runs) => crate::slo::search(&runs),
        Invocation::Sweep(sweep) => crate::sweep::sweep(&sweep),
        Invocation::SweepRuns(runs) => crate::sweep::sweep_runs(&runs),
        // Another crate may have turned on `commands` of `servemark-cli` alone.
        _ => Err(CliError::NotBuilt { what: "this command".to_owned() }.into()),
    }
}

/// Returns the exit code of an error. Errors of a run have codes; all others are caused by the
/// machine or the user.
pub fn exit_code_of(error: &anyhow::Error) -> ExitCode {
    let of_run = error.downcast_ref::<ExecuteError>().map(ExecuteError::exit_code);
    let of_sweep = error.downcast_ref::<SweepRunError>().map(SweepRunError::exit_code);
    let of_process = error.downcast_ref::<ProcessError>().map(ProcessError::exit_code);
    let of_log = error.downcast_ref::<RunLogError>().map(|_| ExitCode::Usage);
    let of_results = error.downcast_ref::<CompareError>().map(CompareError::exit_code);
    let of_ranks = error.downcast_ref::<RankError>().map(|error| error.code);
    let of_words = error.downcast_ref::<CliError>().map(|_| ExitCode::Usage);
    let known = [of_run, of_sweep, of_process, of_log, of_results, of_ranks, of_words];
    known.into_iter().flatten().next().unwrap_or(ExitCode::Internal)
}
