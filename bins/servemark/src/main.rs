//! Put servemark in front of the command you already run; also score.

use std::process::ExitCode;

fn main() -> ExitCode {
    servemark_terminal::door()
}
