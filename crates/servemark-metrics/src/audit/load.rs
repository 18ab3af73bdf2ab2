//! Whether the client carried its load.

use std::cmp::Reverse;

use serde::Serialize;

use super::format::{percent, time};
use super::machine::{Machine, ShardLoad};
use super::verdict::{AccuracyVerdict, Finding, LoadVerdict, Verdict};
use super::{Audit, limits};

/// Whether the client carried its load, with the reasons.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClientLoad {
    /// Overall verdict on the load.
    pub verdict: LoadVerdict,
    /// Reasons for the verdict, the worst first; empty if the load was carried.
    pub reasons: Vec<Finding>,
}

impl ClientLoad {
    /// Judges how a run's requests were sent and what the client's threads were busy with.
    pub(super) fn of(audit: &Audit) -> Self {
        let mut reasons = Vec::new();
        let mut verdict = LoadVerdict::Carried;
        // Each pair judges one fact: the milder rule is asked where the stricter one does not
        // apply.
        let rules: [(Rule, Option<Rule>); 7] = [
            (ranks_missing, None),
            (rank_limited, None),
            (behind, None),
            (far_late, Some(late)),
            (vacant_gate, Some(half_vacant)),
            (saturated, Some(contended)),
            (log_wait, None),
        ];
        for (limit, strain) in rules {
            let limited = limit(audit).map(|reason| (LoadVerdict::ClientLimited, reason));
            let strained = || Some((LoadVerdict::Strained, strain?(audit)?));
            let found = limited.or_else(strained);
            let Some((found, reason)) = found else { continue };
            verdict = verdict.max(found);
            reasons.push(Finding { verdict: Verdict::of(found, AccuracyVerdict::Exact), reason });
        }
        reasons.sort_by_key(|found| Reverse(found.verdict));
        Self { verdict, reasons }
    }
}

/// A rule that returns its reason if it applies to a run.
type Rule = fn(&Audit) -> Option<String>;

/// Applies if requests are missing because ranks were lost.
fn ranks_missing(audit: &Audit) -> Option<String> {
    audit.ranks.as_ref()?.missing()
}

/// Applies if one of several ranks did not carry its part of the load.
fn rank_limited(audit: &Audit) -> Option<String> {
    audit.ranks.as_ref()?.limited()
}

fn behind(audit: &Audit) -> Option<String> {
    let sending = &audit.sending;
    let share = sending.behind_share.filter(|&share| share > limits::BEHIND)?;
    let (achieved, requested) = (sending.achieved_per_s?, sending.let_through_per_s?);
    (sending.behind_us > limits::BEHIND_US).then(|| {
        format!(
            "it sent {achieved:.1} requests/s where {requested:.1} were due: from the first to the last \
             it took {} longer",
            percent(share)
        )
    })
}

/// Applies if sends were so late that requests bunch.
fn far_late(audit: &Audit) -> Option<String> {
    let sending = &audit.sending;
    late_words(sending.far_late, sending.far_late_share(), sending.far_late_from_us)
}

fn late(audit: &Audit) -> Option<String> {
    let sending = &audit.sending;
    late_words(sending.late, sending.late_share(), sending.late_from_us)
}

fn late_words(late: u64, share: Option<f64>, limit_us: f64) -> Option<String> {
    let is_habit = late >= limits::LATE_SENDS_LEAST;
    let share = share.filter(|&share| is_habit && share >= limits::LATE_SENDS)?;
    Some(format!("{} of the sends were more than {} late", percent(share), time(limit_us)))
}

/// Applies if places of the gate stood empty for so long that the concurrency was another one.
fn vacant_gate(audit: &Audit) -> Option<String> {
    vacant_words(audit, limits::VACANT_LIMIT)
}

fn half_vacant(audit: &Audit) -> Option<String> {
    vacant_words(audit, limits::VACANT)
}

fn vacant_words(audit: &Audit, limit: f64) -> Option<String> {
    let share = audit.sending.gate.as_ref()?.vacant_share.filter(|&share| share >= limit)?;
    Some(format!(
        "{} of the concurrency was lost because ended answers lay unseen and the next requests left \
         late",
        percent(share)
    ))
}

/// Applies if a thread's own work left it no idle time.
fn saturated(audit: &Audit) -> Option<String> {
    let (number, share) = busiest(audit.machine.as_ref()?, |shard| shard.cpu_share)?;
    (share >= limits::BUSY)
        .then(|| format!("shard {number} ran for {} of the time", percent(share)))
}

/// Applies if a thread had no idle time because other threads had its core.
fn contended(audit: &Audit) -> Option<String> {
    let (number, share) = busiest(audit.machine.as_ref()?, ShardLoad::busy_share)?;
    (share >= limits::BUSY).then(|| {
        format!("shard {number} ran, or waited for a core, for {} of the time", percent(share))
    })
}

/// Returns the one-based number of the thread with the largest share, and that share.
fn busiest(machine: &Machine, share: impl Fn(&ShardLoad) -> f64) -> Option<(usize, f64)> {
    let shares = machine.shards.iter().map(share).enumerate();
    let busiest = shares.max_by(|(_, one), (_, other)| one.total_cmp(other));
    busiest.map(|(index, share)| (index + 1, share))
}

fn log_wait(audit: &Audit) -> Option<String> {
    let share = audit.machine.as_ref()?.log_wait_share;
    (share >= limits::LOG_WAIT).then(|| {
        format!("it waited for the writer of the run log for {} of the time", percent(share))
    })
}
