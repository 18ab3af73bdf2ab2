//! Online serving benchmark with the command line of SGLang's client and additional flags.

use std::process::ExitCode;

fn main() -> ExitCode {
    servemark_terminal::bench_serving()
}
