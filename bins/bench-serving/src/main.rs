//! Online serving benchmark: SGLang's command line and ours.

use std::process::ExitCode;

fn main() -> ExitCode {
    servemark_terminal::bench_serving()
}
