//! Whether the numbers of a run can be compared with those of another.

use std::fmt;

use serde::Serialize;

use crate::{Audit, Verdict};

/// Why the numbers of a run cannot be compared with those of another.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Doubt {
    /// On which side the run is.
    pub side: ComparedSide,
    /// The number of the run on its side, from 1, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<usize>,
    /// The verdict of its client audit.
    pub verdict: Verdict,
    /// The reasons for the verdict.
    pub reason: String,
}

/// One of the two sides of a comparison. Closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparedSide {
    /// What the comparison starts from.
    Before,
    /// What is held against it.
    After,
}

impl Doubt {
    /// The doubt about a run whose client was at its limit or suspect: its numbers may be the
    /// client's.
    pub fn of(side: ComparedSide, audit: &Audit) -> Option<Self> {
        if audit.is_comparable() {
            return None;
        }
        let decisive = audit.reasons.iter().filter(|finding| finding.verdict >= Verdict::Suspect);
        let reasons: Vec<&str> = decisive.map(|finding| finding.reason.as_str()).collect();
        Some(Self { side, run: None, verdict: audit.verdict, reason: reasons.join("; ") })
    }

    /// The doubt about one of several runs of a side, by its number from 1.
    #[must_use]
    pub fn about_run(self, run: usize) -> Self {
        Self { run: Some(run), ..self }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            ComparedSide::Before => "A",
            ComparedSide::After => "B",
        };
        write!(f, "the client of {side}")?;
        if let Some(run) = self.run {
            write!(f, ", run {run},")?;
        }
        write!(f, " was {}: {}", self.verdict, self.reason)
    }
}
