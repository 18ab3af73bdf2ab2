//! Benchmark of embedding and rerank servers, as single runs or as a grid of batch sizes and
//! concurrencies.

use std::process::ExitCode;

fn main() -> ExitCode {
    servemark_terminal::bench_embedding()
}
