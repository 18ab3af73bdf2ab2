//! Settings of rank 0, and what it reports.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use servemark::core::RankMachine;

/// Settings of rank 0.
pub struct LeadSpec {
    /// Name of the group, which distinguishes it from others that use the same coordinator.
    pub name: String,
    /// Number of ranks.
    pub ranks: NonZeroUsize,
    /// This machine.
    pub machine: RankMachine,
    /// What is gathered from the other ranks.
    pub gather: Gather,
    /// How the ranks share a concurrency limit.
    pub concurrency: Concurrency,
    /// Time to wait until every rank has joined.
    pub patience: Duration,
    /// Receives what happens to the ranks.
    pub on_event: Box<dyn Fn(RankEvent) + Send + Sync>,
}

impl fmt::Debug for LeadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeadSpec").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What is gathered from the other ranks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Gather {
    /// Everything that a report needs. The texts of the answers stay in the rank's own log, unless
    /// the plan writes them somewhere.
    #[default]
    Records,
    /// The whole logs, which are kept beside the merged one.
    Logs,
}

/// How ranks share a concurrency limit.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Concurrency {
    /// Each rank has a fixed part of the limit.
    #[default]
    Split,
    /// Ranks hand places that they do not use to ranks that need them.
    Shared,
}

/// Something that happened to a rank.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RankEvent {
    /// A rank has joined.
    Joined {
        /// The rank.
        rank: usize,
        /// Its machine.
        machine: RankMachine,
        /// Number of ranks that have joined, this one included.
        joined: usize,
    },
    /// A process that asked to take part was refused.
    Refused {
        /// The reason.
        reason: String,
    },
    /// A rank was lost.
    Lost {
        /// The rank.
        rank: usize,
        /// The reason.
        reason: String,
    },
    /// A rank that was lost is there again.
    Returned {
        /// The rank.
        rank: usize,
    },
    /// The measurement of all ranks is over, and their results are gathered.
    Gathering {
        /// Number of ranks.
        ranks: usize,
    },
}
