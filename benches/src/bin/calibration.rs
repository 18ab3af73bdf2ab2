//! Counts how often confidence intervals, gates and searches miss the truth, warm-ups are detected,
//! and runs of one server are called different, by simulating processes whose truth is known.
//!
//! `cargo run --release -p servemark-benches --bin calibration [RUNS]` prints Markdown tables; see
//! `docs/methodology.md`.

use std::process::ExitCode;

use servemark_benches::calibration::{
    Cell, Comparisons, GateCell, Process, SearchCell, WarmUp, cells,
};

/// Default number of simulated runs of each cell.
const RUNS: u32 = 400;

/// Number of runs that take as long as one search.
const RUNS_A_SEARCH: u32 = 4;

/// Lengths of the first rounds of searches, in seconds.
const FIRST_ROUNDS: [u64; 2] = [30, 120];

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
    println!("\n{}", GateCell::HEAD);
    for process in cells() {
        for requests in [400, 1000, 5000] {
            println!("{}", GateCell::simulate(&process, requests, runs));
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
    println!("\n{}", SearchCell::HEAD);
    for seconds in FIRST_ROUNDS {
        for cell in SearchCell::all(seconds) {
            println!("{}", cell.simulate(runs.div_ceil(RUNS_A_SEARCH)));
        }
    }
    ExitCode::SUCCESS
}
