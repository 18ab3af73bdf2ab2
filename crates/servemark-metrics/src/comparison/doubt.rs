//! Whether the numbers of a run can be compared with those of another.

use std::fmt;

use serde::Serialize;

use crate::{Audit, Verdict};

/// Why the numbers of a run cannot be compared with those of another.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Doubt {
    /// Which of the two runs.
    pub side: ComparedSide,
    /// The verdict of its client audit.
    pub verdict: Verdict,
    /// The reasons for the verdict.
    pub reason: String,
}

/// One of two runs that are compared. Closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparedSide {
    /// The run to start from.
    Before,
    /// The run that is held against it.
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
        Some(Self { side, verdict: audit.verdict, reason: reasons.join("; ") })
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            ComparedSide::Before => "A",
            ComparedSide::After => "B",
        };
        write!(f, "the client of {side} was {}: {}", self.verdict, self.reason)
    }
}
