//! Are these numbers the server's, or the client's? What the client did to its own measurement,
//! and a verdict with its reasons.
//!
//! It is made of stamps and counters alone, whatever the policy. What is absent is said to be: no
//! fact makes a run clean by not being there.

mod accuracy;
mod limits;
mod little;
mod load;
mod machine;
mod network;
mod reading;
mod resending;
mod sending;
mod stamp_error;
mod tally;
mod unchecked;
mod verdict;
mod words;

use std::fmt;

use serde::Serialize;
use servemark_core::RunLog;

pub use self::accuracy::{AccuracyVerdict, LatencyAccuracy};
pub use self::little::LittlesLaw;
pub use self::load::{ClientLoad, LoadVerdict};
pub use self::machine::{Machine, ShardLoad};
pub use self::network::Network;
pub use self::reading::{Reading, Shared, Yardstick};
pub use self::resending::Resending;
pub use self::sending::{Gate, Sending};
pub use self::stamp_error::StampError;
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
    /// The one word for both parts, [`load`](Self::load) and [`latencies`](Self::latencies), as
    /// [`Verdict::of`] derives it.
    pub verdict: Verdict,
    /// Whether the client carried its load.
    pub load: ClientLoad,
    /// How right the latencies are.
    pub latencies: LatencyAccuracy,
    /// The reasons of both parts, the worst first.
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
            littles_law: LittlesLaw::of(log),
        };
        audit.load = ClientLoad::of(&audit);
        audit.latencies = LatencyAccuracy::of(&audit);
        audit.verdict = Verdict::of(audit.load.verdict, audit.latencies.verdict);
        audit.reasons = verdict::findings(&audit.load, &audit.latencies);
        audit.unchecked = unchecked::unchecked(&audit, log);
        audit
    }

    /// Whether the client kept up with its load: it was offered as it was asked for, and there was
    /// time to read the answers. A client that is only strained did.
    pub fn keeps_up(&self) -> bool {
        self.load.verdict != LoadVerdict::ClientLimited
    }

    /// Whether the run's figures can be compared with those of another run: the load was carried,
    /// and the latencies are right.
    pub fn is_comparable(&self) -> bool {
        self.keeps_up() && self.latencies.verdict != AccuracyVerdict::Uncertain
    }
}

/// The verdict, its two parts and its reasons on one line.
impl fmt::Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<&str> = self.reasons.iter().map(|found| found.reason.as_str()).collect();
        let Self { verdict, load, latencies, .. } = self;
        write!(f, "{verdict}: load {}, latencies {latencies}: {}", load.verdict, reasons.join("; "))
    }
}
