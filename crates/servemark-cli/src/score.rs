//! `servemark score`: the numbers of a run that is over.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser};
use servemark_metrics::Slo;
use servemark_plan::Layout;

use crate::error::UsageError;
use crate::sglang::parse_layout;

/// Score a run again from what was recorded
#[derive(Clone, Debug, Parser, PartialEq)]
#[command(name = "score", max_term_width = 100)]
#[non_exhaustive]
pub struct ScoreArgs {
    /// The run log
    #[arg(value_name = "RUNLOG")]
    pub run_log: PathBuf,
    /// The tables to print, in this order: sglang, native; those of the run if left out
    #[arg(long = "layout", value_name = "NAMES", value_delimiter = ',',
          value_parser = parse_layout)]
    pub layouts: Vec<Layout>,
    /// The file to which SGLang's line of results is appended
    #[arg(long, value_name = "PATH")]
    pub result_file: Option<PathBuf>,
    /// Put every request into that line
    #[arg(long = "output-details", requires = "result_file")]
    pub details: bool,
    /// Limits in milliseconds that a request must keep to be good: ttft:500 tpot:50 e2el:10000;
    /// those of the run if left out
    #[arg(long = "goodput", value_name = "KEY:VALUE", num_args = 1..)]
    pub slos: Vec<Slo>,
}

pub(crate) fn parse(
    program: &str,
    args: impl Iterator<Item = OsString>,
) -> Result<ScoreArgs, UsageError> {
    let command = ScoreArgs::command().bin_name(program);
    command
        .no_binary_name(true)
        .try_get_matches_from(args)
        .and_then(|matches| ScoreArgs::from_arg_matches(&matches))
        .map_err(|error| UsageError::from_clap(&error))
}
