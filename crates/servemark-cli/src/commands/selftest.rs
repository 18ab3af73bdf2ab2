//! `servemark selftest`: measures how well this machine works as a client.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::environment::Environment;
use crate::error::UsageError;
use crate::own::{notes, parse_command};

/// Measure how accurate this machine is as a client, against the bundled server, in a few seconds
///
/// The results are kept in the user's cache folder, and later runs warn of a plan that asks for more
/// than 70 % of the capacity found.
#[derive(Clone, Debug, Parser, PartialEq)]
#[command(name = "selftest", max_term_width = 100, after_help = notes(&EXAMPLES, EXIT_CODES))]
pub struct SelftestArgs {
    /// Number of answers that stream at once
    #[arg(long, value_name = "N", default_value_t = 256,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub streams: u32,
    /// Approximate duration of each of the four loads in seconds
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_duration)]
    pub duration: Duration,
    /// Print one document of JSON and no table
    #[arg(long)]
    pub json: bool,
    /// Fail with exit code 3 if the reported p99 TTFT differs from the true one by more than this
    /// number of milliseconds
    #[arg(long, value_name = "MS", value_parser = parse_milliseconds)]
    pub require_ttft_error_ms: Option<f64>,
    /// Fail with exit code 3 if the reported p99 ITL differs from the true one by more than this
    /// number of milliseconds
    #[arg(long, value_name = "MS", value_parser = parse_milliseconds)]
    pub require_itl_error_ms: Option<f64>,
    /// Folder in which the figures are kept; `None` if the user's cache folder is not known.
    #[arg(skip)]
    pub cache: Option<PathBuf>,
}

const EXAMPLES: [&str; 2] =
    ["servemark doctor", "servemark doctor --streams 1024 --require-itl-error-ms 0.1"];

const EXIT_CODES: &str = "0 the test came to its end, whatever its verdict, 1 the machine refused something, 2 usage, or \
     the options ask for more than the machine has, 3 a requirement is not met.";

fn parse_duration(seconds: &str) -> Result<Duration, String> {
    let seconds = parse_number(seconds)?;
    let fits = (0.1..=60.0).contains(&seconds);
    fits.then(|| Duration::from_secs_f64(seconds)).ok_or("expected 0.1 to 60".to_owned())
}

fn parse_milliseconds(text: &str) -> Result<f64, String> {
    let number = parse_number(text)?;
    (number >= 0.0).then_some(number).ok_or("expected 0 or more".to_owned())
}

fn parse_number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

/// Returns the command with its flags, for completions.
pub(crate) fn clap_command() -> clap::Command {
    <SelftestArgs as clap::CommandFactory>::command()
}

pub(crate) fn parse(
    program: &str,
    args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<SelftestArgs, UsageError> {
    let args = parse_command(program, args)?;
    Ok(SelftestArgs { cache: environment.cache(), ..args })
}
