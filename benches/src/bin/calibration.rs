//! Counts how often confidence intervals, gates and searches miss the truth, warm-ups are detected,
//! and runs of one server are called different, by simulating processes whose truth is known.
//!
//! `cargo run --release -p servemark-benches --bin calibration [RUNS [PART...]]` prints Markdown tables;
//! see `docs/methodology.md`.

use std::process::ExitCode;
use std::thread;

use servemark::core::{NoProgress, parallel};
use servemark_benches::calibration::{
    Cell, Comparisons, Design, GateCell, LogCell, Process, SearchCell, WarmUp, cells,
};

/// Default number of simulated runs of each cell.
const RUNS: u32 = 400;

/// Number of runs that take as long as one search.
const RUNS_A_SEARCH: u32 = 4;

/// Lengths of the first rounds of searches, in seconds.
const FIRST_ROUNDS: [u64; 2] = [30, 120];

/// A table: its name on the command line, and what prints it for a number of runs.
type StudyPart = (&'static str, fn(u32));

/// The tables of the study, in the order in which they are printed.
const PARTS: [StudyPart; 6] = [
    ("intervals", intervals),
    ("run-logs", run_logs),
    ("gates", gates),
    ("warm-up", warm_up),
    ("comparisons", comparisons),
    ("searches", searches),
];

#[expect(clippy::print_stderr, reason = "a usage is an error message")]
fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let runs = args.first().map_or(Some(RUNS), |given| given.parse().ok().filter(|runs| *runs > 0));
    let is_wanted = |part: &str| args.len() < 2 || args[1..].iter().any(|given| given == part);
    let is_known = |given: &String| PARTS.iter().any(|(part, _)| given == part);
    let Some(runs) = runs.filter(|_| args.iter().skip(1).all(is_known)) else {
        let parts = PARTS.map(|(part, _)| part).join(", ");
        eprintln!("usage: calibration [RUNS [PART...]], a number above zero and any of {parts}");
        return ExitCode::from(2);
    };
    for (_, table) in PARTS.iter().filter(|(part, _)| is_wanted(part)) {
        table(runs);
    }
    ExitCode::SUCCESS
}

/// Prints a table whose rows are computed on all cores, a few at a time. Cells for which there is no
/// row are left out.
#[expect(clippy::print_stdout, reason = "a study prints its table")]
fn print_table<C: Sync>(head: &str, cells: &[C], row: impl Fn(&C) -> Option<String> + Sync) {
    println!("{head}");
    let cores = thread::available_parallelism().map_or(1, usize::from);
    for block in cells.chunks(cores) {
        let rows = parallel::map("simulating", block, &NoProgress, &row);
        rows.into_iter().flatten().for_each(|row| println!("{row}"));
    }
    println!();
}

/// Returns the processes of these names with every length of a run.
fn of_lengths(is_reported: impl Fn(&Process) -> bool) -> Vec<(Process, usize)> {
    let processes = cells().into_iter().filter(is_reported);
    processes.flat_map(|process| [400, 1000, 5000].map(|requests| (process, requests))).collect()
}

fn intervals(runs: u32) {
    let is_reported = |process: &Process| !process.has_rare_waits();
    print_table(Cell::HEAD, &of_lengths(is_reported), |(process, requests)| {
        Some(Cell::simulate(process, *requests, runs).to_string())
    });
}

fn run_logs(runs: u32) {
    print_table(LogCell::HEAD, &of_lengths(|_| true), |(process, requests)| {
        Some(LogCell::simulate(process, *requests, runs)?.to_string())
    });
}

fn gates(runs: u32) {
    print_table(GateCell::HEAD, &of_lengths(|_| true), |(process, requests)| {
        Some(GateCell::simulate(process, *requests, runs).to_string())
    });
}

fn warm_up(runs: u32) {
    let cells = of_lengths(|process| WarmUp::PROCESSES.contains(&process.name));
    print_table(WarmUp::HEAD, &cells, |(process, requests)| {
        Some(WarmUp::simulate(process, *requests, runs).to_string())
    });
}

fn comparisons(runs: u32) {
    let is_reported = |process: &Process| Comparisons::PROCESSES.contains(&process.name);
    let cells: Vec<(Process, Design)> = cells()
        .into_iter()
        .filter(is_reported)
        .flat_map(|process| Comparisons::designs().into_iter().map(move |design| (process, design)))
        .collect();
    print_table(Comparisons::HEAD, &cells, |(process, design)| {
        Some(Comparisons::simulate(process, *design, runs).to_string())
    });
}

fn searches(runs: u32) {
    let cells: Vec<SearchCell> = FIRST_ROUNDS.into_iter().flat_map(SearchCell::all).collect();
    let searches = runs.div_ceil(RUNS_A_SEARCH);
    print_table(SearchCell::HEAD, &cells, |cell| Some(cell.clone().simulate(searches).to_string()));
}
