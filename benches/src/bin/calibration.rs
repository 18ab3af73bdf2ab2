//! Counts how often confidence intervals, gates and searches miss the truth, warm-ups are detected,
//! and runs of one server are called different, by simulating processes whose truth is known.
//!
//! `cargo run --release -p servemark-benches --bin calibration [RUNS [PART...]]` prints Markdown tables;
//! see `docs/methodology.md`.

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

/// A table: its name on the command line, and what prints it for a number of runs.
type StudyPart = (&'static str, fn(u32));

/// The tables of the study, in the order in which they are printed.
const PARTS: [StudyPart; 5] = [
    ("intervals", intervals),
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

#[expect(clippy::print_stdout, reason = "a study prints its table")]
fn print_table(head: &str, rows: impl Iterator<Item = String>) {
    println!("{head}");
    for row in rows {
        println!("{row}");
    }
    println!();
}

/// Returns the processes of these names with every length of a run.
fn of_lengths(is_reported: impl Fn(&Process) -> bool) -> Vec<(Process, usize)> {
    let processes = cells().into_iter().filter(is_reported);
    processes.flat_map(|process| [400, 1000, 5000].map(|requests| (process, requests))).collect()
}

fn intervals(runs: u32) {
    let rows = of_lengths(|_| true).into_iter();
    print_table(
        Cell::HEAD,
        rows.map(|(of, requests)| Cell::simulate(&of, requests, runs).to_string()),
    );
}

fn gates(runs: u32) {
    let rows = of_lengths(|_| true).into_iter();
    print_table(
        GateCell::HEAD,
        rows.map(|(of, requests)| GateCell::simulate(&of, requests, runs).to_string()),
    );
}

fn warm_up(runs: u32) {
    let rows = of_lengths(|process| WarmUp::PROCESSES.contains(&process.name)).into_iter();
    print_table(
        WarmUp::HEAD,
        rows.map(|(of, requests)| WarmUp::simulate(&of, requests, runs).to_string()),
    );
}

fn comparisons(runs: u32) {
    let is_reported = |process: &Process| Comparisons::PROCESSES.contains(&process.name);
    let rows = cells().into_iter().filter(is_reported).flat_map(|process| {
        let row = move |design| Comparisons::simulate(&process, design, runs).to_string();
        Comparisons::designs().into_iter().map(row)
    });
    print_table(Comparisons::HEAD, rows);
}

fn searches(runs: u32) {
    let rows = FIRST_ROUNDS.into_iter().flat_map(SearchCell::all);
    let searches = runs.div_ceil(RUNS_A_SEARCH);
    print_table(SearchCell::HEAD, rows.map(|cell| cell.simulate(searches).to_string()));
}
