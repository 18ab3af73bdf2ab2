//! Counts how often confidence intervals, gates and searches miss the truth, warm-ups are detected,
//! and runs of one server are called different, by simulating processes whose truth is known.
//!
//! `cargo run --release -p servemark-benches --bin calibration [RUNS [PART|PROCESS...]]` prints
//! Markdown tables; see `docs/methodology.md`.

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

/// Options of the calibration study.
struct Study {
    /// Number of simulated runs of each cell.
    runs: u32,
    /// Names of the tables to print; all if empty.
    parts: Vec<String>,
    /// Names of the processes that have rows; all if empty.
    processes: Vec<String>,
}

/// A table of the study: its name on the command line, and the function that prints it.
type StudyPart = (&'static str, fn(&Study));

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
    let Some(study) = Study::of(std::env::args().skip(1)) else {
        let parts = PARTS.map(|(part, _)| part).join(", ");
        let mut processes: Vec<&str> = Study::processes().map(|process| process.name).collect();
        processes.sort_unstable();
        processes.dedup();
        eprintln!(
            "usage: calibration [RUNS [PART|PROCESS...]], a number above zero, any of {parts} and any of:\n{}",
            processes.join("\n")
        );
        return ExitCode::from(2);
    };
    for (part, table) in PARTS {
        if study.parts.is_empty() || study.parts.iter().any(|asked| asked == part) {
            table(&study);
        }
    }
    ExitCode::SUCCESS
}

impl Study {
    /// Parses a command line; absent if it is invalid.
    fn of(mut args: impl Iterator<Item = String>) -> Option<Self> {
        let runs = args.next().map_or(Some(RUNS), |given| given.parse().ok())?;
        let is_part = |given: &String| PARTS.iter().any(|(part, _)| given == part);
        let (parts, processes): (Vec<String>, Vec<String>) = args.partition(is_part);
        let is_process = |given: &String| Self::processes().any(|process| process.name == given);
        (runs > 0 && processes.iter().all(is_process)).then_some(Self { runs, parts, processes })
    }

    /// Returns every process of any table.
    fn processes() -> impl Iterator<Item = Process> {
        cells().into_iter().chain(SearchCell::servers())
    }

    fn is_asked(&self, process: &Process) -> bool {
        self.processes.is_empty() || self.processes.iter().any(|asked| asked == process.name)
    }

    /// Returns the selected processes that a table reports, with every length of a run.
    fn of_lengths(&self, is_reported: impl Fn(&Process) -> bool) -> Vec<(Process, usize)> {
        let processes = self.reported(is_reported);
        processes
            .flat_map(|process| [400, 1000, 5000].map(|requests| (process, requests)))
            .collect()
    }

    /// Returns the selected processes that a table reports.
    fn reported(&self, is_reported: impl Fn(&Process) -> bool) -> impl Iterator<Item = Process> {
        cells().into_iter().filter(move |process| is_reported(process) && self.is_asked(process))
    }
}

/// Prints a table whose rows are computed on all cores, a few at a time. Cells for which there is
/// no row are left out.
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

fn intervals(study: &Study) {
    let cells = study.of_lengths(|process| !process.has_rare_waits());
    print_table(Cell::HEAD, &cells, |(process, requests)| {
        Some(Cell::simulate(process, *requests, study.runs).to_string())
    });
}

fn run_logs(study: &Study) {
    print_table(LogCell::HEAD, &study.of_lengths(|_| true), |(process, requests)| {
        Some(LogCell::simulate(process, *requests, study.runs)?.to_string())
    });
}

fn gates(study: &Study) {
    print_table(GateCell::HEAD, &study.of_lengths(|_| true), |(process, requests)| {
        Some(GateCell::simulate(process, *requests, study.runs).to_string())
    });
}

fn warm_up(study: &Study) {
    let cells = study.of_lengths(|process| WarmUp::PROCESSES.contains(&process.name));
    print_table(WarmUp::HEAD, &cells, |(process, requests)| {
        Some(WarmUp::simulate(process, *requests, study.runs).to_string())
    });
}

fn comparisons(study: &Study) {
    let reported = study.reported(|process| Comparisons::PROCESSES.contains(&process.name));
    let cells: Vec<(Process, Design)> = reported
        .flat_map(|process| Comparisons::designs().into_iter().map(move |design| (process, design)))
        .collect();
    print_table(Comparisons::HEAD, &cells, |(process, design)| {
        Some(Comparisons::simulate(process, *design, study.runs).to_string())
    });
}

fn searches(study: &Study) {
    let is_asked = |process: &Process| study.is_asked(process);
    let cells: Vec<SearchCell> =
        FIRST_ROUNDS.into_iter().flat_map(|seconds| SearchCell::all(seconds, is_asked)).collect();
    let searches = study.runs.div_ceil(RUNS_A_SEARCH);
    print_table(SearchCell::HEAD, &cells, |cell| Some(cell.clone().simulate(searches).to_string()));
}
