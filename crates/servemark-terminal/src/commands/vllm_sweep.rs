//! vLLM's sweeps: servers in several settings, each started by its command, and plots of the
//! results. Printed text and file contents match the peer's.

mod bench;
mod experiment;
mod figures;
mod levels;
mod serve;
mod server;
mod startup;

use servemark::ExitCode;
use servemark_cli::vllm::sweep::SweepCommand;

/// Runs the command of a sweep.
pub(crate) fn run(command: &SweepCommand) -> anyhow::Result<ExitCode> {
    match command {
        SweepCommand::Plot(plot) => figures::plot(plot),
        SweepCommand::PlotPareto(pareto) => figures::plot_pareto(pareto),
        SweepCommand::Serve(sweep) => serve::run(sweep),
        SweepCommand::Startup(sweep) => startup::run(sweep),
    }
}
