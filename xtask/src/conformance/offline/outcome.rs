//! The result of an offline run.

use crate::conformance::tally::Tally;

/// Result of one run.
#[derive(Debug)]
pub(in crate::conformance) struct RunReport {
    pub(super) name: &'static str,
    pub(in crate::conformance) faults: Vec<String>,
    pub(super) counts: Counts,
}

/// Counts of a run, by kind of run.
#[derive(Debug)]
pub(super) enum Counts {
    /// The run could not be compared.
    None,
    /// Counts of a complete run from three sources.
    Whole(Sides),
    /// Outcome of a run that was stopped.
    Ended(StoppedRun),
    /// Counts of a run with the engine's own command line.
    Worded(ComparedResults),
}

impl RunReport {
    /// Creates the report of a run that could not be compared.
    pub(super) fn broken(name: &'static str, error: &anyhow::Error) -> Self {
        Self { name, faults: vec![format!("{error:#}")], counts: Counts::None }
    }
}

/// Counts of a complete run from the log, the result and the engine's own benchmark.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sides {
    pub(super) log: Tally,
    pub(super) result: Tally,
    pub(super) own: Tally,
    /// Number of answers whose text equals one of the engine's own benchmark.
    pub(super) same_texts: usize,
    /// Duration of our run and of the engine's own benchmark, in seconds.
    pub(super) seconds: (f64, f64),
}

/// Outcome of a run that was stopped.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct StoppedRun {
    pub(super) code: Option<i32>,
    /// Outcomes of the requests; unknown if our program was killed and the log has no footer.
    pub(super) outcomes: Option<Outcomes>,
    /// Number of processes left behind.
    pub(super) left: usize,
}

/// Number of answered and of lost requests.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Outcomes {
    pub(super) answered: usize,
    pub(super) lost: usize,
}

/// Compared results of a command line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ComparedResults {
    /// Counts of the measured requests.
    pub(super) log: Tally,
    /// Total tokens in our result file and in the peer's, if the files have them.
    pub(super) tokens: (Option<u64>, Option<u64>),
    /// Duration of our run and of the peer's, in seconds.
    pub(super) seconds: (f64, f64),
}
