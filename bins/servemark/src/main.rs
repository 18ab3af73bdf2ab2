//! Wrapper for existing benchmark commands: prefix the command with `servemark`. Also scores run
//! logs.

use std::process::ExitCode;

fn main() -> ExitCode {
    servemark_terminal::dispatch()
}
