//! Are these numbers the server's, or the client's? What the client did to its own measurement,
//! and a verdict with its reasons.
//!
//! It is made of stamps and counters alone, whatever the policy. What is absent is said to be: no
//! fact makes a run clean by not being there.

mod limits;
mod little;
mod machine;
mod network;
mod reading;
mod resending;
mod sending;
mod tally;
mod unchecked;
mod verdict;
mod words;

use std::fmt;

use serde::Serialize;
use servemark_core::RunLog;

pub use self::little::LittlesLaw;
pub use self::machine::{Machine, ShardLoad};
pub use self::network::Network;
pub use self::reading::{Reading, Shared, Yardstick};
pub use self::resending::Resending;
pub use self::sending::{Gate, Sending};
pub use self::tally::Spread;
pub use self::verdict::{Finding, Verdict};

/// What the client did to its own measurement.
///
/// ```
/// # use servemark_core::{Header, RunFacts, RunLog};
/// use servemark_metrics::{Audit, Verdict};
///
/// # let header = Header::new(0, RunFacts::default(), Default::default());
/// # let log = RunLog::new(header, Vec::new(), None);
/// let audit = Audit::of(&log);
/// assert_eq!(audit.verdict, Verdict::Suspect);
/// assert!(audit.to_string().contains("no request succeeded"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Audit {
    /// What it comes to.
    pub verdict: Verdict,
    /// Why, the worst first.
    pub reasons: Vec<Finding>,
    /// What could not be checked.
    pub unchecked: Vec<String>,
    /// What there is nothing to check of, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inapplicable: Vec<String>,
    /// How arrivals were read.
    pub reading: Reading,
    /// How requests were sent.
    pub sending: Sending,
    /// What the kernel knew of the connections; nothing where there were none.
    pub network: Network,
    /// Requests that the server did not process.
    #[serde(skip_serializing_if = "Resending::is_empty")]
    pub resending: Resending,
    /// How busy the client was; absent of a run that was killed.
    pub machine: Option<Machine>,
    /// Whether the run's means tell one story; absent of a run that is too short to say.
    pub littles_law: Option<LittlesLaw>,
}

impl Audit {
    /// Audits the measurement of a run.
    pub fn of(log: &RunLog) -> Self {
        let mut audit = Self {
            verdict: Verdict::Clean,
            reasons: Vec::new(),
            unchecked: Vec::new(),
            inapplicable: unchecked::inapplicable(log),
            reading: Reading::of(log.measured()),
            sending: Sending::of(log),
            network: Network::of(log.measured()),
            resending: Resending::of(log),
            machine: Machine::of(log),
            littles_law: LittlesLaw::of(log),
        };
        audit.reasons = verdict::findings(&audit);
        audit.unchecked = unchecked::unchecked(&audit, log);
        let worst = audit.reasons.iter().map(|finding| finding.verdict).max();
        audit.verdict = worst.unwrap_or(audit.verdict);
        audit
    }

    /// Whether the client kept up with its load: it was offered as fast as it was asked for, and
    /// there was time to read the answers. Requests that were each a little late, of which the
    /// verdict tells, are no other load.
    pub fn keeps_up(&self) -> bool {
        verdict::keeps_up(self)
    }
}

/// The verdict and its reasons on one line.
impl fmt::Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<&str> = self.reasons.iter().map(|found| found.reason.as_str()).collect();
        write!(f, "{}: {}", self.verdict, reasons.join("; "))
    }
}
