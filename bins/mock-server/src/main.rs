//! The simulator as a server on a port. `servemark mock-server` is the same program; this one is
//! compiled without the parts that measure.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use clap::Parser;
use servemark_mock::program::ServerFlags;

/// A server that answers on an exact schedule, to test benchmarking clients.
#[derive(Debug, Parser)]
#[command(name = "mock-server", version)]
struct Line {
    #[command(flatten)]
    flags: ServerFlags,
}

fn main() -> ExitCode {
    match serve(Line::parse().flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A closed standard error is not an error of the program.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn serve(flags: ServerFlags) -> Result<()> {
    // A write beyond the limit of the file size then fails with an error and does not end the
    // process.
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default())?;
    Ok(flags.serve()?)
}
