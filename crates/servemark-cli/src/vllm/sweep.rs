//! The dialect of vLLM 0.33.0's sweeps (`vllm bench sweep …`).
//!
//! A command line becomes a [`SweepCommand`]: what is to be run or plotted. Parameter files are
//! only named in it: the caller reads them and passes their text to [`combinations`].

#[expect(clippy::doc_markdown, reason = "doc comments are help texts there, backticks would show")]
mod args;
mod commands;
mod names;
mod parameters;
mod shell;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches};
use servemark_report::{ParetoSpec, RelationSpec};

use self::args::{ExperimentArgs, ParetoArgs, PlotArgs, ServeArgs, StartupArgs, WorkloadArgs};
pub use self::names::{file_name, folder_name, with_output};
pub use self::parameters::{Combination, combinations};
use crate::argparse::{Flag, Flexible, ParsedCommandLine, texts};
use crate::environment::Environment;
use crate::error::{CliError, UsageError};

/// Parsed command line of a sweep.
#[derive(Clone, Debug)]
pub enum SweepCommand {
    /// Plot one result over another.
    Plot(PlotSweep),
    /// Plot the Pareto frontier.
    PlotPareto(ParetoSweep),
    /// Measure a server in several settings.
    Serve(ServeSweep),
    /// Measure starts of a server in several settings.
    Startup(StartupSweep),
}

impl SweepCommand {
    /// Returns whether one document of JSON is printed in place of the messages.
    pub fn prints_document(&self) -> bool {
        match self {
            Self::Plot(plot) => plot.json,
            Self::PlotPareto(plot) => plot.json,
            Self::Serve(sweep) => sweep.experiment.json,
            Self::Startup(sweep) => sweep.experiment.json,
        }
    }
}

/// Folder of a sweep's results, and settings that all sweeps share.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Experiment {
    /// Folder of the results.
    pub folder: PathBuf,
    /// Whether the commands are only printed and not run.
    pub dry_run: bool,
    /// Whether the sweep continues an earlier one.
    pub resume: bool,
    /// Number of runs of each combination.
    pub runs: u32,
    /// Whether the output of the commands is shown.
    pub shows_output: bool,
    /// Whether one document of JSON with all results is printed in place of the messages.
    pub json: bool,
}

/// Parsed sweep of a server over settings.
#[derive(Clone, Debug)]
pub struct ServeSweep {
    /// Folder of the results and shared settings.
    pub experiment: Experiment,
    /// Command that starts the server.
    pub serve: Vec<String>,
    /// Command that measures the server.
    pub bench: Vec<String>,
    /// Command that runs after each measurement, in place of emptying the server's caches.
    pub after_bench: Option<Vec<String>>,
    /// Time-out for the server's readiness.
    pub patience: Duration,
    /// File with combinations of the server's parameters.
    pub serve_parameters: Option<PathBuf>,
    /// File with combinations of the benchmark's parameters.
    pub bench_parameters: Option<PathBuf>,
    /// Pairs of a server's and a benchmark's parameter that must be equal.
    pub links: Vec<(String, String)>,
    /// Number of prompts of the unmeasured run before each combination; `None` if there is no such
    /// run.
    pub warmup_prompts: Option<u64>,
    /// Whether the sweep continues after a failed run.
    pub continues: bool,
    /// Levels of load to measure; `None` if the sweep does not vary the load.
    pub workload: Option<Workload>,
}

/// Levels of load between one request at a time and all at once.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Workload {
    /// Setting that differs between the levels.
    pub variable: WorkloadVariable,
    /// Number of levels, including both ends.
    pub levels: usize,
}

/// Setting that differs between the levels of a sweep: one of the two that the peer has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WorkloadVariable {
    /// Number of requests in flight.
    MaxConcurrency,
    /// Requests per second.
    RequestRate,
}

impl WorkloadVariable {
    /// Returns the name as a parameter.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MaxConcurrency => "max_concurrency",
            Self::RequestRate => "request_rate",
        }
    }
}

/// Parsed sweep of a server's start-up over settings.
#[derive(Clone, Debug)]
pub struct StartupSweep {
    /// Folder of the results and shared settings.
    pub experiment: Experiment,
    /// Command that measures one start.
    pub command: Vec<String>,
    /// File with combinations of the server's parameters.
    pub serve_parameters: Option<PathBuf>,
    /// File with combinations of the command's own parameters.
    pub startup_parameters: Option<PathBuf>,
    /// Whether parameters that the command does not know are refused.
    pub is_strict: bool,
}

/// Parsed command line for plots of an experiment's results.
#[derive(Clone, Debug)]
pub struct PlotSweep {
    /// Folder of the experiment.
    pub folder: PathBuf,
    /// Folder of the plots.
    pub figures: PathBuf,
    /// Base name of the plots.
    pub name: String,
    /// Settings of the plot.
    pub spec: RelationSpec,
    /// Resolution of the plots in dots per inch.
    pub dots_per_inch: u32,
    /// Whether the names of the plots are only printed and nothing is drawn.
    pub dry_run: bool,
    /// Whether one document of JSON is printed in place of the messages.
    pub json: bool,
}

/// Parsed command line for the Pareto frontier of an experiment's results.
#[derive(Clone, Debug)]
pub struct ParetoSweep {
    /// Folder of the experiment.
    pub folder: PathBuf,
    /// Settings of the plot.
    pub spec: ParetoSpec,
    /// Whether the name of the plot is only printed and nothing is drawn.
    pub dry_run: bool,
    /// Whether one document of JSON is printed in place of the messages.
    pub json: bool,
}

/// Parses the arguments that follow `vllm bench sweep`.
///
/// ```
/// use servemark_cli::Environment;
/// use servemark_cli::vllm::sweep::{self, SweepCommand};
///
/// let args = ["plot", "results/today", "--var-y", "p99_ttft_ms", "--filter-by", "tp==2"];
/// let command = sweep::parse(args.map(Into::into), &Environment::default())?;
/// let SweepCommand::Plot(plot) = command else { panic!("it is no plot") };
/// assert_eq!(plot.spec.y, "p99_ttft_ms");
/// # Ok::<(), servemark_cli::UsageError>(())
/// ```
pub fn parse(
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<SweepCommand, UsageError> {
    let mut args = args.into_iter();
    let kind = args.next().unwrap_or_default().to_string_lossy().into_owned();
    let program = format!("vllm bench sweep {kind}");
    let refuse = |error| UsageError::refused(&program, error);
    let (built, given) = match kind.as_str() {
        "plot" => {
            let (args, given) = read::<PlotArgs>(&program, args)?;
            (args.command(positional(&given)).map(SweepCommand::Plot), given)
        }
        "plot_pareto" => {
            let (args, given) = read::<ParetoArgs>(&program, args)?;
            (args.command(positional(&given)).map(SweepCommand::PlotPareto), given)
        }
        "serve" => {
            let (args, given) = read::<ServeArgs>(&program, args)?;
            (args.serve.command(None, environment).map(SweepCommand::Serve), given)
        }
        "serve_workload" => {
            let (args, given) = read::<WorkloadArgs>(&program, args)?;
            (args.command(environment).map(SweepCommand::Serve), given)
        }
        "startup" => {
            let (args, given) = read::<StartupArgs>(&program, args)?;
            (args.command(environment).map(SweepCommand::Startup), given)
        }
        "" | "-h" | "--help" => return Err(UsageError::help(HELP)),
        // Earlier versions of vLLM have this name for serve_workload.
        "serve_sla" => {
            let given = "vllm bench sweep serve_sla".to_owned();
            let instead = "servemark vllm bench sweep serve_workload";
            let other = CliError::OtherClient { given, instead };
            return Err(UsageError::refused("servemark vllm", other));
        }
        _ => {
            let given = format!("vllm bench sweep {kind}");
            let unknown = CliError::unknown_command(given, KINDS);
            return Err(UsageError::refused("servemark vllm", unknown));
        }
    };
    // argparse looks for required flags before unknown ones.
    if let Err(error @ CliError::Required { .. }) = built {
        return Err(refuse(error));
    }
    let taken = usize::from(kind.starts_with("plot"));
    let leftovers = given.reading.leftovers.get(taken..).unwrap_or_default();
    if !leftovers.is_empty() {
        return Err(refuse(given.reading.unrecognized(leftovers)));
    }
    built.map_err(refuse)
}

/// Returns the sweep commands with their flags, for completions.
pub(crate) fn clap_commands() -> [clap::Command; 5] {
    [
        <ServeArgs as CommandFactory>::command().name("serve"),
        <WorkloadArgs as CommandFactory>::command().name("serve_workload"),
        <StartupArgs as CommandFactory>::command().name("startup"),
        <PlotArgs as CommandFactory>::command().name("plot"),
        <ParetoArgs as CommandFactory>::command().name("plot_pareto"),
    ]
}

/// Names of vLLM's sweep commands.
const KINDS: [&str; 5] = [
    "vllm bench sweep plot",
    "vllm bench sweep plot_pareto",
    "vllm bench sweep serve",
    "vllm bench sweep serve_workload",
    "vllm bench sweep startup",
];

/// Returns the folder, which is given without a flag.
fn positional(given: &ParsedCommandLine) -> Option<PathBuf> {
    given.reading.leftovers.first().map(PathBuf::from)
}

fn read<T: CommandFactory + FromArgMatches>(
    program: &str,
    args: impl Iterator<Item = OsString>,
) -> Result<(T, ParsedCommandLine), UsageError> {
    let refuse = |error| UsageError::refused(program, error);
    let args = texts(args).map_err(refuse)?.iter().map(|arg| spelled_out(arg)).collect();
    Flexible::take_back(args).map_err(refuse)?.typed(program)
}

/// Replaces short flags by their names: `-o PATH`, `-oPATH` and `-o=PATH` become `--output-dir`;
/// `-e` likewise.
fn spelled_out(arg: &str) -> String {
    for (short, long) in SHORT {
        match arg.strip_prefix(short) {
            Some("") => return long.to_string(),
            Some(value) => {
                return format!("{long}={}", value.strip_prefix('=').unwrap_or(value));
            }
            None => {}
        }
    }
    arg.to_owned()
}

const SHORT: [(&str, Flag); 2] =
    [("-o", ExperimentArgs::OUTPUT_DIR), ("-e", ExperimentArgs::EXPERIMENT_NAME)];

const HELP: &str = "\
vLLM's sweeps, same command lines.

usage: servemark vllm bench sweep COMMAND [OPTIONS]

Commands:
  serve           Measure servers, each started by its command
  serve_workload  Measure latency and throughput between no load and full load
  startup         Measure the start-up time of a server in several settings
  plot            Plot one result of a sweep over another
  plot_pareto     Plot tokens per second per user over those per GPU
";

#[cfg(test)]
mod tests;
