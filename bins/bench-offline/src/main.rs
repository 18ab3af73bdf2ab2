//! Offline throughput benchmark of an engine without a server.

use std::process::ExitCode;

fn main() -> ExitCode {
    servemark_terminal::bench_offline()
}
