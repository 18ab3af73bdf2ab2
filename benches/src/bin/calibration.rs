//! How often confidence intervals miss the truth, warm-ups are seen and runs of one server are called
//! different, by simulation of processes whose truth is known.
//!
//! `cargo run --release -p servemark-benches --bin calibration [RUNS]` prints Markdown tables; see
//! `docs/methodology.md`.

use std::process::ExitCode;

use servemark_benches::calibration::{Cell, Comparisons, Process, WarmUp, cells};

/// Number of simulated runs of each cell, unless another is given.
const RUNS: u32 = 400;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a study prints its table")]
fn main() -> ExitCode {
    let runs = match std::env::args().nth(1).map(|given| given.parse::<u32>()) {
        None => RUNS,
        Some(Ok(runs)) if runs > 0 => runs,
        Some(_) => {
            eprintln!("usage: calibration [RUNS], a number above zero");
            return ExitCode::from(2);
        }
    };
    println!("{}", Cell::HEAD);
    for process in cells() {
        for requests in [400, 1000, 5000] {
            println!("{}", Cell::simulate(&process, requests, runs));
        }
    }
    println!("\n{}", WarmUp::HEAD);
    let is_told = |process: &Process| WarmUp::PROCESSES.contains(&process.name);
    for process in cells().into_iter().filter(is_told) {
        for requests in [400, 1000, 5000] {
            println!("{}", WarmUp::simulate(&process, requests, runs));
        }
    }
    println!("\n{}", Comparisons::HEAD);
    let is_told = |process: &Process| Comparisons::PROCESSES.contains(&process.name);
    for process in cells().into_iter().filter(is_told) {
        for design in Comparisons::designs() {
            println!("{}", Comparisons::simulate(&process, design, runs));
        }
    }
    ExitCode::SUCCESS
}
