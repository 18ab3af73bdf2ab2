//! Checks whether the figures of a run can be compared with those of another.

use std::fmt;

use serde::Serialize;

use crate::{Audit, Verdict};

/// Reason why the figures of a run cannot be compared with those of another.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Doubt {
    /// Side of the comparison that the run is on.
    pub side: ComparedSide,
    /// One-based number of the run on its side, if the side has several runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<usize>,
    /// Verdict of the run's client audit.
    pub verdict: Verdict,
    /// Reasons for the verdict.
    pub reason: String,
    /// Whether the only reason is that the client's own clock timed the answers.
    #[serde(skip)]
    pub(crate) is_of_clock_alone: bool,
}

/// One of the two sides of a comparison. The enum is closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparedSide {
    /// The side that is the base of the comparison.
    Before,
    /// The side that is compared with the base.
    After,
}

impl Doubt {
    /// Returns a doubt if the run's client was at its limit or its latencies are uncertain: the
    /// figures may then come from the client.
    pub fn of(side: ComparedSide, audit: &Audit) -> Option<Self> {
        if audit.is_comparable() {
            return None;
        }
        let decisive = audit.reasons.iter().filter(|finding| finding.verdict >= Verdict::Suspect);
        let reasons: Vec<&str> = decisive.map(|finding| finding.reason.as_str()).collect();
        let is_of_clock_alone = audit.keeps_up() && audit.latencies.is_by_client_clock_alone;
        let (verdict, reason) = (audit.verdict, reasons.join("; "));
        Some(Self { side, run: None, verdict, reason, is_of_clock_alone })
    }

    /// Sets the one-based number of the run on its side.
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
