//! Runs the commands.

use std::path::PathBuf;

use servemark::core::RunLogError;
use servemark::{CompareError, ExecuteError, ExitCode, ProcessError, RankError, SweepRunError};
use servemark_cli::{CliError, ClusterArgs, Invocation};

use crate::run_file::RefusedPlan;
use crate::{cluster, failures, outputs, screen};

/// Runs a command and returns its exit code.
pub(crate) fn invoked(
    invocation: Invocation,
    cluster: Option<&ClusterArgs>,
    files_read: &[PathBuf],
) -> ExitCode {
    // Errors of AISBench's command begin with the name of its program, here as in the parser.
    let speaker = if let Invocation::Aisbench(_) = invocation { "ais_bench: " } else { "" };
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
        Invocation::Ab(runs) => crate::ab::ab(&runs),
        Invocation::Aisbench(tasks) => crate::aisbench::run(&tasks),
        Invocation::Bench(parsed) => crate::bench::bench(&parsed),
        Invocation::Compare(args) => crate::compare::compare(&args),
        Invocation::DryRun(parsed) => crate::bench::dry(&parsed),
        Invocation::Evalscope(runs) => crate::evalscope::run(&runs),
        Invocation::Export(args) => crate::export::export(&args),
        Invocation::Explore(args) => crate::explore::explore(&args),
        Invocation::Launch(args) => crate::launch::launch(&args),
        #[cfg(feature = "mock-server")]
        Invocation::MockServer(flags) => {
            flags.serve()?;
            Ok(ExitCode::Ok)
        }
        Invocation::Noise(runs) => crate::ab::noise(&runs),
        Invocation::Offline(offline) => crate::offline::bench(&offline),
        Invocation::OneBatch(bench) => crate::one_batch::bench(&bench),
        Invocation::Rerun(rerun) => crate::rerun::rerun(&rerun),
        Invocation::Run(run) => crate::run_file::run(&run),
        Invocation::Text(text) => {
            screen::print(&text);
            Ok(ExitCode::Ok)
        }
        Invocation::Score(args) => crate::score::score(&args),
        Invocation::Series(series) => crate::series::series(&series),
        Invocation::Selftest(args) => crate::selftest::test(&args),
        Invocation::SloSearch(runs) => crate::slo::search(&runs),
        Invocation::Sweep(sweep) => crate::sweep::sweep(&sweep),
        Invocation::SweepRuns(runs) => crate::sweep::sweep_runs(&runs),
        Invocation::TextSlices(slices) => crate::slices::cut(&slices),
        Invocation::VllmSweep(command) => crate::vllm_sweep::run(&command),
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
    let of_plan = error.downcast_ref::<RefusedPlan>().map(|_| ExitCode::Usage);
    let known = [of_run, of_sweep, of_process, of_log, of_results, of_ranks, of_words, of_plan];
    known.into_iter().flatten().next().unwrap_or(ExitCode::Internal)
}
