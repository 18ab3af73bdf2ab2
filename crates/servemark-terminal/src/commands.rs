//! The commands that only the program `servemark` has.

mod ab;
mod aisbench;
mod between_runs;
mod compare;
mod dry_run;
mod evalscope;
mod explore;
mod export;
mod gates;
mod launch;
mod live_page;
mod one_batch;
mod outputs;
mod rerun;
mod run_file;
mod score;
mod selftest;
mod series;
mod slices;
pub(crate) mod starter;
mod vllm_sweep;

use servemark::ExitCode;
use servemark_cli::Command;

pub(crate) use self::outputs::add as add_outputs;
pub use self::run_file::{KeptRun, run_into_folder};
use crate::screen;

/// Runs a command and returns its exit code.
pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Ab(runs) => ab::ab(&runs),
        Command::Aisbench(tasks) => aisbench::run(&tasks),
        Command::Compare(args) => compare::compare(&args),
        Command::DryRun(parsed) => dry_run::print(&parsed),
        Command::Evalscope(runs) => evalscope::run(&runs),
        Command::Explore(args) => explore::explore(&args),
        Command::Export(args) => export::export(&args),
        Command::Launch(args) => launch::launch(&args),
        #[cfg(feature = "mock-server")]
        Command::MockServer(flags) => {
            flags.serve()?;
            Ok(ExitCode::Ok)
        }
        Command::Noise(runs) => ab::noise(&runs),
        Command::OneBatch(bench) => one_batch::bench(&bench),
        Command::Rerun(rerun) => rerun::rerun(&rerun),
        Command::Run(run) => run_file::run(&run),
        Command::Score(args) => score::score(&args),
        Command::Selftest(args) => selftest::test(&args),
        Command::Series(series) => series::series(&series),
        Command::Text(text) => {
            screen::print(&text);
            Ok(ExitCode::Ok)
        }
        Command::TextSlices(slices) => slices::cut(&slices),
        Command::VllmSweep(command) => vllm_sweep::run(&command),
    }
}
