//! Verdicts that make a run fail, by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{MetricsError, RunVerdictKind, Verdict};

/// A verdict that makes a run fail: one on the run itself or one on its client. Its text form is
/// its name.
///
/// ```
/// use servemark_metrics::{FailOn, RunVerdictKind, Verdict};
///
/// assert_eq!("saturated".parse(), Ok(FailOn::Run(RunVerdictKind::Saturated)));
/// assert_eq!("suspect".parse(), Ok(FailOn::Client(Verdict::Suspect)));
/// assert!("clean".parse::<FailOn>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(into = "String", try_from = "String")]
pub enum FailOn {
    /// A verdict of the client's audit.
    Client(Verdict),
    /// A verdict on the run.
    Run(RunVerdictKind),
}

impl FailOn {
    /// Returns every verdict that can be named, those on the run first.
    pub fn all() -> impl Iterator<Item = Self> {
        let client = [Verdict::Suspect, Verdict::ClientLimited];
        RunVerdictKind::ALL.into_iter().map(Self::Run).chain(client.map(Self::Client))
    }

    /// Returns the name in JSON and on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client(verdict) => verdict.name(),
            Self::Run(kind) => kind.name(),
        }
    }
}

impl FromStr for FailOn {
    type Err = MetricsError;

    fn from_str(name: &str) -> Result<Self, MetricsError> {
        let unknown = || {
            let known: Vec<&str> = Self::all().map(Self::name).collect();
            MetricsError::UnknownVerdict { given: name.to_owned(), known: known.join(", ") }
        };
        Self::all().find(|kind| kind.name() == name).ok_or_else(unknown)
    }
}

impl fmt::Display for FailOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl From<RunVerdictKind> for FailOn {
    fn from(kind: RunVerdictKind) -> Self {
        Self::Run(kind)
    }
}

impl From<FailOn> for String {
    fn from(kind: FailOn) -> Self {
        kind.name().to_owned()
    }
}

impl TryFrom<String> for FailOn {
    type Error = MetricsError;

    fn try_from(name: String) -> Result<Self, MetricsError> {
        name.parse()
    }
}
