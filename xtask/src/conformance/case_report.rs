//! The result of one case.

use super::answer::WireAnswer;
use super::case::Case;
use super::parts::Parts;
use super::peer::ComparedCounts;
use super::record::Record;

/// Result of one case.
#[derive(Debug)]
pub(super) struct CaseReport {
    pub(super) case: Case,
    pub(super) pairs: Vec<(Record, WireAnswer)>,
    pub(super) faults: Vec<String>,
    /// Counts of our client, the engine's own client and the server, if they were compared.
    pub(super) beside: Option<ComparedCounts>,
    /// Parts of the requests' times and the engine's histograms, if they were compared.
    pub(super) parts: Option<Parts>,
}

impl CaseReport {
    /// Creates the report of a run that could not be compared.
    pub(super) fn broken(case: Case, error: &anyhow::Error) -> Self {
        Self {
            case,
            pairs: Vec::new(),
            faults: vec![format!("{error:#}")],
            beside: None,
            parts: None,
        }
    }
}
