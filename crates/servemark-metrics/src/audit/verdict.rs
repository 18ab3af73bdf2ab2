//! The verdicts of the audit as values: on the load, on the latencies, and on both.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether a client carried its load, from the best to the worst. The enum is closed: scripts may
/// rely on these three values.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum LoadVerdict {
    /// Requests were sent when they were due, and the client had time left.
    #[default]
    Carried,
    /// The load was the one that was asked for, except for single sends that were a little late,
    /// and the client had hardly any time left.
    Strained,
    /// The load was not the one that was asked for, or the client's own work left it no time.
    ClientLimited,
}

impl LoadVerdict {
    /// Returns the name that logs and reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Carried => "carried",
            Self::Strained => "strained",
            Self::ClientLimited => "client-limited",
        }
    }
}

impl fmt::Display for LoadVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Accuracy of latencies, from the best to the worst. The enum is closed: scripts may rely on these
/// three values.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum AccuracyVerdict {
    /// The client read answers in time, so its own clock would have given the same latencies.
    #[default]
    Exact,
    /// The client read answers late, and the kernel's stamps corrected that.
    Corrected,
    /// Latencies may be wrong by more than a few percent or by an unknown amount.
    Uncertain,
}

impl AccuracyVerdict {
    /// Returns the name that logs and reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Corrected => "corrected",
            Self::Uncertain => "uncertain",
        }
    }
}

impl fmt::Display for AccuracyVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whether a run's numbers are the server's or the client's, from the best to the worst. The enum
/// is closed: scripts may rely on these four values.
///
/// [`Verdict::of`] derives it from the two parts of the audit alone.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The load was carried, and the client read answers in time.
    Clean,
    /// The client had little time left or read answers late, and the figures are right all the
    /// same.
    Corrected,
    /// The client may have changed latencies by more than a few percent, or by an unknown amount.
    Suspect,
    /// The load was not the one that was asked for.
    ClientLimited,
}

impl Verdict {
    /// All verdicts, from the best to the worst.
    pub const ALL: [Self; 4] = [Self::Clean, Self::Corrected, Self::Suspect, Self::ClientLimited];

    /// Combines the two parts of the audit.
    ///
    /// | load \ latencies | exact | corrected | uncertain |
    /// |---|---|---|---|
    /// | carried | clean | corrected | suspect |
    /// | strained | corrected | corrected | suspect |
    /// | client-limited | client-limited | client-limited | client-limited |
    ///
    /// ```
    /// use servemark_metrics::{AccuracyVerdict, LoadVerdict, Verdict};
    ///
    /// let beside_a_hog = Verdict::of(LoadVerdict::Strained, AccuracyVerdict::Corrected);
    /// assert_eq!(beside_a_hog, Verdict::Corrected);
    /// ```
    pub fn of(load: LoadVerdict, latencies: AccuracyVerdict) -> Self {
        match (load, latencies) {
            (LoadVerdict::ClientLimited, _) => Self::ClientLimited,
            (_, AccuracyVerdict::Uncertain) => Self::Suspect,
            (LoadVerdict::Strained, _) | (_, AccuracyVerdict::Corrected) => Self::Corrected,
            (LoadVerdict::Carried, AccuracyVerdict::Exact) => Self::Clean,
        }
    }

    /// Returns the name that logs, reports and command lines use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Corrected => "corrected",
            Self::Suspect => "suspect",
            Self::ClientLimited => "client-limited",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A reason for a verdict, as a sentence with its numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// Best verdict that this reason allows.
    pub verdict: Verdict,
    /// The reason as a sentence.
    pub reason: String,
}
