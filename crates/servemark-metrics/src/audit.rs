//! Audits the client's influence on its own measurement and gives a verdict with its reasons.
//!
//! The audit uses stamps and counters only, whatever the policy. It lists every fact that is
//! missing from the log, because a missing fact must not make a run clean.

mod accuracy;
mod format;
mod limits;
mod little;
mod load;
mod machine;
mod network;
mod ranks;
mod reading;
mod resending;
mod segments;
mod sending;
mod stamp_error;
mod tally;
mod unchecked;
mod verdict;

use std::cmp::Reverse;
use std::fmt;

use serde::Serialize;
use servemark_core::RunLog;

pub use self::accuracy::LatencyAccuracy;
pub use self::little::LittlesLaw;
pub use self::load::ClientLoad;
pub use self::machine::{Machine, ShardLoad};
pub use self::network::Network;
pub use self::ranks::{RankAudit, WorstRank};
pub use self::reading::{LagReference, Reading, Shared};
pub use self::resending::Resending;
pub use self::sending::{Gate, Sending};
pub use self::stamp_error::StampError;
pub use self::tally::Spread;
pub use self::verdict::{AccuracyVerdict, Finding, LoadVerdict, Verdict};

/// An audit of the client's influence on its own measurement.
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
    /// Overall verdict, which [`Verdict::of`] derives from [`load`](Self::load) and
    /// [`latencies`](Self::latencies).
    pub verdict: Verdict,
    /// Whether the client carried its load.
    pub load: ClientLoad,
    /// Accuracy of the latencies.
    pub latencies: LatencyAccuracy,
    /// Reasons of the load and of the latencies, the worst first.
    pub reasons: Vec<Finding>,
    /// Checks that could not be made because a fact is missing, each with its reason.
    pub unchecked: Vec<String>,
    /// Checks that do not apply to this run, each with its reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inapplicable: Vec<String>,
    /// How the client read the answers.
    pub reading: Reading,
    /// How the client sent the requests.
    pub sending: Sending,
    /// The kernel's figures of the connections; empty for a run without connections.
    pub network: Network,
    /// Requests that the server did not process.
    #[serde(skip_serializing_if = "Resending::is_empty")]
    pub resending: Resending,
    /// Load of the client's threads; absent for a run that was killed.
    pub machine: Option<Machine>,
    /// The processes that shared the run; absent if one process made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<RankAudit>,
    /// Little's law over the middle of the run; absent if the run is too short for it.
    pub littles_law: Option<LittlesLaw>,
}

impl Audit {
    /// Audits the measurement of a run.
    pub fn of(log: &RunLog) -> Self {
        let machine = Machine::of(log);
        let core_is_shared = machine.as_ref().and_then(Machine::core_is_shared);
        let mut audit = Self {
            verdict: Verdict::Clean,
            load: ClientLoad::default(),
            latencies: LatencyAccuracy::default(),
            reasons: Vec::new(),
            unchecked: Vec::new(),
            inapplicable: unchecked::inapplicable(log),
            reading: Reading::of(log.measured(), core_is_shared),
            sending: Sending::of(log),
            network: Network::of(log.measured()),
            resending: Resending::of(log),
            machine,
            ranks: RankAudit::of(log),
            littles_law: LittlesLaw::of(log),
        };
        audit.load = ClientLoad::of(&audit);
        audit.latencies = LatencyAccuracy::of(&audit);
        audit.verdict = Verdict::of(audit.load.verdict, audit.latencies.verdict);
        audit.reasons = findings(&audit.load, &audit.latencies);
        audit.unchecked = unchecked::unchecked(&audit, log);
        audit
    }

    /// Returns whether the client kept up with its load: it offered the load that was asked for,
    /// and it had time to read the answers. This includes a client that was strained.
    pub fn keeps_up(&self) -> bool {
        self.load.verdict != LoadVerdict::ClientLimited
    }

    /// Returns whether the run's figures can be compared with those of another run: the client kept
    /// up with its load, and the latencies are not uncertain.
    pub fn is_comparable(&self) -> bool {
        self.keeps_up() && self.latencies.verdict != AccuracyVerdict::Uncertain
    }
}

/// Displays the verdict, its two parts and its reasons on one line.
impl fmt::Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<&str> = self.reasons.iter().map(|found| found.reason.as_str()).collect();
        let Self { verdict, load, latencies, .. } = self;
        write!(f, "{verdict}: load {}, latencies {latencies}", load.verdict)?;
        if reasons.is_empty() { Ok(()) } else { write!(f, ": {}", reasons.join("; ")) }
    }
}

/// Merges the reasons of both parts, the worst first. Reasons in a run's favour are dropped if
/// there is any against it.
fn findings(load: &ClientLoad, latencies: &LatencyAccuracy) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        load.reasons.iter().chain(&latencies.reasons).cloned().collect();
    if findings.iter().any(|found| found.verdict > Verdict::Clean) {
        findings.retain(|found| found.verdict > Verdict::Clean);
    }
    findings.sort_by_key(|found| Reverse(found.verdict));
    findings
}
