//! vLLM's sweeps: servers in several settings, each started by its command, and plots of what was
//! found. What is printed, and what is in which file, is the peer's.

mod bench;
mod experiment;
mod figures;
mod levels;
mod serve;
mod startup;

use servemark::ExitCode;
use servemark_cli::vllm::sweep::SweepCommand;

/// Does what a sweep's command line asks for.
pub(crate) fn run(command: &SweepCommand) -> anyhow::Result<ExitCode> {
    match command {
        SweepCommand::Plot(plot) => figures::plot(plot),
        SweepCommand::PlotPareto(pareto) => figures::plot_pareto(pareto),
        SweepCommand::Serve(sweep) => serve::run(sweep),
        SweepCommand::Startup(sweep) => startup::run(sweep),
        _ => unreachable!("every sweep is served"),
    }
}
