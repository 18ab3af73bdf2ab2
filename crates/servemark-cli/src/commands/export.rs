//! `servemark export`: a run log in formats of other programs.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;

use crate::error::UsageError;
use crate::own::{PLAIN_EXIT_CODES, notes, parse_command};

/// Write a run log in formats of other programs
///
/// Of --parquet, requests.parquet has a row for each request, tokens.parquet one for each piece of output, which
/// names its request by the number of its row, and series.parquet one for each reading of a metric. Times are
/// nanoseconds since the run's clock started.
#[derive(Clone, Debug, Parser, PartialEq)]
#[command(name = "export", max_term_width = 100, after_help = notes(&EXAMPLES, PLAIN_EXIT_CODES))]
#[non_exhaustive]
pub struct ExportArgs {
    /// The run log
    #[arg(value_name = "RUNLOG")]
    pub run_log: PathBuf,
    /// Folder for requests.parquet, tokens.parquet and series.parquet; it is created if it does not
    /// exist, and existing files are replaced
    #[arg(long, value_name = "DIR", required_unless_present = "benchmark_report")]
    pub parquet: Option<PathBuf>,
    /// File for llm-d's benchmark report, version 0.2, as JSON; an existing file is replaced
    #[arg(long, value_name = "PATH")]
    pub benchmark_report: Option<PathBuf>,
    /// Print one document of JSON with the written files
    #[arg(long)]
    pub json: bool,
    /// Leave damaged lines out; they are an error otherwise
    #[arg(long)]
    pub skip_damaged: bool,
}

const EXAMPLES: [&str; 2] = [
    "servemark export run.runlog.jsonl --parquet tables",
    "servemark export run.runlog.jsonl --benchmark-report report.json",
];

/// Returns the command with its flags, for completions.
pub(crate) fn clap_command() -> clap::Command {
    <ExportArgs as clap::CommandFactory>::command()
}

pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<ExportArgs, UsageError> {
    parse_command("servemark export", args)
}
