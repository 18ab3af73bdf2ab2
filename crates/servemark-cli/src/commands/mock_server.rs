//! `servemark mock-server`: the simulator as a server on a port.

use std::ffi::OsString;

use clap::{CommandFactory, Parser};
use servemark_mock::program::ServerFlags;

use crate::error::UsageError;
use crate::own::{notes, parse_command};

/// Serve the simulator on a port: answers on an exact schedule, and faults on request
///
/// It prints its address when it accepts connections, and runs until Ctrl-C.
#[derive(Clone, Debug, Parser)]
#[command(name = "mock-server", max_term_width = 100, after_help = notes(&EXAMPLES, EXIT_CODES))]
struct MockServerArgs {
    #[command(flatten)]
    flags: ServerFlags,
}

const EXAMPLES: [&str; 3] = [
    "servemark mock-server --port 8000 --ttft-ms 50 --itl-ms 10",
    "servemark mock-server --port 8000 --engine vllm --places 24",
    "servemark mock-server --port 8000 --fault status:503/10 --truth truth.jsonl",
];

const EXIT_CODES: &str = "0 a signal ended the server, 1 the machine refused something, 2 usage.";

/// Returns the command with its flags, for completions.
pub(crate) fn clap_command() -> clap::Command {
    MockServerArgs::command()
}

pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<ServerFlags, UsageError> {
    let MockServerArgs { flags } = parse_command("servemark mock-server", args)?;
    Ok(flags)
}
