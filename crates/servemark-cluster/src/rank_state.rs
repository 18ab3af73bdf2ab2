//! What rank 0 knows of another rank.

use servemark::core::{RankMachine, Stamp};

use crate::message::{Joining, RankStage, Report};

/// What rank 0 knows of another rank.
#[derive(Debug)]
pub(crate) struct RankState {
    pub(crate) rank: usize,
    pub(crate) joined: Option<Joining>,
    pub(crate) report: Report,
    /// When its last message came.
    pub(crate) seen: Stamp,
    /// Why the rank does not count any more.
    pub(crate) lost: Option<String>,
}

impl RankState {
    pub(crate) fn empty(rank: usize) -> Self {
        Self { rank, joined: None, report: Report::default(), seen: Stamp::ZERO, lost: None }
    }

    /// Returns how the rank is called in messages.
    pub(crate) fn name(&self) -> String {
        match &self.joined {
            Some(joined) => format!("rank {} ({})", self.rank, joined.machine.host),
            None => format!("rank {}", self.rank),
        }
    }

    /// Returns the rank's machine; nothing is known of it if the rank has not joined.
    pub(crate) fn machine(&self) -> RankMachine {
        self.joined.as_ref().map(|joined| joined.machine.clone()).unwrap_or_default()
    }

    /// Returns how far the rank is with a run.
    pub(crate) fn stage(&self, run: u64) -> &RankStage {
        if self.report.run == run { &self.report.stage } else { &RankStage::Idle }
    }

    /// Returns whether there is nothing to wait for: the rank sends nothing more in a run, or it is
    /// lost.
    pub(crate) fn is_over(&self, run: u64) -> bool {
        self.lost.is_some() || self.stage(run).is_over()
    }

    /// Returns whether the rank need not be told that there will be no further run: it expects none,
    /// it is lost, or it never joined.
    pub(crate) fn expects_no_run(&self) -> bool {
        self.report.closed || self.lost.is_some() || self.joined.is_none()
    }
}
