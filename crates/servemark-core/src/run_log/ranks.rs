//! A run that several processes share: what the log of one of them, and the merged log, have to say
//! of it.

use serde::{Deserialize, Serialize};

use super::RunFacts;

/// The machine of one of several processes that share a run, as far as it limits what the process
/// can carry.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct RankMachine {
    /// Name of the machine; empty if it is not known.
    pub host: String,
    /// Number of cores that the process may use; 0 if it is not known.
    pub cores: usize,
    /// Largest number of files that the process may open; absent if it is not known or there is no
    /// limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
}

/// The part of a run that one of several processes has.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RankFacts {
    /// Name of the run, which no other run has.
    pub run: String,
    /// Zero-based rank of the process. Session `i` of the plan belongs to rank `i mod ranks`.
    pub rank: usize,
    /// Number of processes.
    pub ranks: usize,
    /// Name of the machine.
    pub host: String,
    /// Largest number of files that the process may open; absent if there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    /// Facts of the whole run.
    pub whole: RunFacts,
}

/// When the measurement of one of several processes began.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct RankStart {
    /// The instant from which all due times count, on the clock of this process.
    pub at: crate::Stamp,
    /// The clock of rank 0 before the start.
    pub clock: RankClock,
}

/// The clock of rank 0, placed on that of another process by the shortest round trip between them.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct RankClock {
    /// Clock of rank 0 minus the clock of the process, in nanoseconds.
    pub offset_ns: i64,
    /// Largest possible error of the offset in nanoseconds: half of that round trip.
    pub bound_ns: u64,
}

/// The processes that shared a run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Ranks {
    /// Name of the run.
    pub run: String,
    /// Every process, in order of rank.
    pub members: Vec<RankMember>,
}

/// One of the processes that shared a run.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct RankMember {
    /// Zero-based rank.
    pub rank: usize,
    /// The machine of the process.
    #[serde(flatten)]
    pub machine: RankMachine,
    /// Number of requests of the plan that belong to the rank.
    pub planned: usize,
    /// Number of measured requests of the rank that the log has.
    pub recorded: usize,
    /// The clock of rank 0 before the start, and after the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_before: Option<RankClock>,
    /// The clock of rank 0 after the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_after: Option<RankClock>,
    /// How late the rank sent its first request, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_late_ns: Option<u64>,
    /// The verdict of the rank's own audit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// The first reason of that verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why the rank's records are missing, or why some of them are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

impl Ranks {
    /// Returns the ranks whose records are missing or incomplete.
    pub fn lost(&self) -> impl Iterator<Item = &RankMember> {
        self.members.iter().filter(|member| member.lost.is_some())
    }

    /// Returns how many ranks have all their records in the log.
    pub fn present(&self) -> usize {
        self.members.len() - self.lost().count()
    }

    /// Returns the share of the planned requests that is missing because ranks were lost, from 0
    /// to 1.
    pub fn missing_share(&self) -> f64 {
        let planned: usize = self.members.iter().map(|member| member.planned).sum();
        let missing: usize =
            self.lost().map(|member| member.planned.saturating_sub(member.recorded)).sum();
        missing as f64 / planned.max(1) as f64
    }

    /// Returns the largest possible difference in nanoseconds between the same instant on the clocks
    /// of two ranks in this log: the two largest errors of the offsets, and what the clocks drifted
    /// apart during the measurement.
    pub fn clock_bound_ns(&self) -> u64 {
        let mut bounds: Vec<u64> =
            self.members.iter().filter_map(RankMember::clock_bound_ns).collect();
        bounds.sort_unstable();
        bounds.iter().rev().take(2).sum()
    }
}

impl RankMember {
    /// Returns the largest possible error of the rank's times on the clock of rank 0, in
    /// nanoseconds: that of the offset before the start, and what the clocks drifted apart since.
    pub fn clock_bound_ns(&self) -> Option<u64> {
        let before = self.clock_before?;
        let drift = self.clock_after.map_or(0, |after| after.drift_since(before));
        Some(before.bound_ns + drift)
    }
}

impl RankClock {
    /// Returns by how many nanoseconds the clocks certainly drifted apart since `earlier`: what the
    /// errors of the two offsets do not explain.
    fn drift_since(self, earlier: Self) -> u64 {
        let change = self.offset_ns.abs_diff(earlier.offset_ns);
        change.saturating_sub(self.bound_ns + earlier.bound_ns)
    }
}
