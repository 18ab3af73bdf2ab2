//! Several processes that shared the run.

use serde::Serialize;
use servemark_core::{RankMachine, RankMember, RunLog};

use super::format::percent;
use super::verdict::Verdict;

/// The processes that shared the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RankAudit {
    /// Number of processes.
    pub ranks: usize,
    /// Number of processes whose requests are all in the log.
    pub present: usize,
    /// Share of the planned requests that is missing because processes were lost, from 0 to 1.
    pub missing_share: f64,
    /// Every lost process, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// The process with the worst verdict of its own, if it is not clean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst: Option<WorstRank>,
    /// Largest possible difference between the same instant on the clocks of two processes, in
    /// microseconds.
    pub clock_bound_us: f64,
}

/// The process with the worst verdict of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WorstRank {
    /// Zero-based rank.
    pub rank: usize,
    /// Name of its machine.
    pub host: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// The first reason of the verdict.
    pub reason: String,
}

impl RankAudit {
    /// Judges the processes of a merged log; `None` if one process made the run.
    pub(super) fn of(log: &RunLog) -> Option<Self> {
        let ranks = log.header().ranks.as_ref()?;
        let lost = |member: &RankMember| {
            let reason = member.lost.as_deref().unwrap_or_default();
            format!("{}: {reason}", name(member))
        };
        Some(Self {
            ranks: ranks.members.len(),
            present: ranks.present(),
            missing_share: ranks.missing_share(),
            lost: ranks.lost().map(lost).collect(),
            worst: worst_of(&ranks.members),
            clock_bound_us: ranks.clock_bound_ns() as f64 / 1000.0,
        })
    }

    /// Returns what of the load is missing, in words; `None` if nothing is.
    pub(super) fn missing(&self) -> Option<String> {
        let Self { ranks, present, missing_share, lost, .. } = self;
        let first = lost.first()?;
        let more = if lost.len() > 1 { ", and others" } else { "" };
        Some(format!(
            "ranks {present} of {ranks}: {} of the load is missing ({first}{more})",
            percent(*missing_share)
        ))
    }

    /// Returns the rank that did not carry its part of the load, in words.
    pub(super) fn limited(&self) -> Option<String> {
        let worst = self.worst.as_ref().filter(|worst| worst.verdict == Verdict::ClientLimited)?;
        let host = if worst.host.is_empty() { String::new() } else { format!(" ({})", worst.host) };
        Some(format!("rank {}{host} did not carry its part: {}", worst.rank, worst.reason))
    }
}

fn worst_of(members: &[RankMember]) -> Option<WorstRank> {
    let verdicts = members.iter().filter_map(|member| Some((member, verdict_of(member)?)));
    let (member, verdict) = verdicts.max_by_key(|(_, verdict)| *verdict)?;
    let reasons = member.reason.clone().into_iter().chain(weakness(member, members));
    Some(WorstRank {
        rank: member.rank,
        host: member.machine.host.clone(),
        verdict,
        reason: reasons.collect::<Vec<_>>().join("; "),
    })
}

/// Returns the verdict of a rank's own audit, if it is not clean.
fn verdict_of(member: &RankMember) -> Option<Verdict> {
    let named = member.verdict.as_deref()?;
    let verdict = Verdict::ALL.into_iter().find(|verdict| verdict.name() == named)?;
    (verdict > Verdict::Clean).then_some(verdict)
}

/// Returns what a rank has less of than others, in words: every rank has an equal share of the load.
fn weakness(member: &RankMember, members: &[RankMember]) -> Option<String> {
    let cores = member.machine.cores;
    let most_cores = members.iter().map(|other| other.machine.cores).max()?;
    if cores > 0 && cores < most_cores {
        return Some(format!(
            "it has {cores} cores for an equal share, and others have up to {most_cores}"
        ));
    }
    let files = member.machine.open_files?;
    let most_files = members.iter().filter_map(|other| other.machine.open_files).max()?;
    (files < most_files).then(|| {
        format!("it may open {files} files for an equal share, and others up to {most_files}")
    })
}

/// Returns how a rank is called.
fn name(member: &RankMember) -> String {
    let RankMember { rank, machine: RankMachine { host, .. }, .. } = member;
    if host.is_empty() { format!("rank {rank}") } else { format!("rank {rank} ({host})") }
}

#[cfg(test)]
mod tests {
    use servemark_core::{Header, Ranks, RunFacts};

    use super::*;
    use crate::Audit;
    use crate::audit::LoadVerdict;

    fn log(members: Vec<RankMember>) -> RunLog {
        let mut header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        header.ranks = Some(Ranks { run: "run".to_owned(), members });
        RunLog::new(header, Vec::new(), None)
    }

    fn member(rank: usize, verdict: &str, lost: Option<&str>) -> RankMember {
        RankMember {
            rank,
            machine: RankMachine { host: format!("host-{rank}"), ..RankMachine::default() },
            planned: 25,
            recorded: if lost.is_some() { 5 } else { 25 },
            verdict: Some(verdict.to_owned()),
            reason: Some("it was busy".to_owned()),
            lost: lost.map(ToOwned::to_owned),
            ..RankMember::default()
        }
    }

    #[test]
    fn a_lost_rank_means_that_the_load_was_not_carried() {
        let lost = member(2, "clean", Some("killed"));
        let others = [0, 1, 3].map(|rank| member(rank, "clean", None));
        let audit =
            Audit::of(&log([others[0].clone(), others[1].clone(), lost, others[2].clone()].into()));
        assert_eq!(audit.load.verdict, LoadVerdict::ClientLimited);
        let expected = "ranks 3 of 4: 20.0 % of the load is missing (rank 2 (host-2): killed)";
        assert_eq!(audit.load.reasons[0].reason, expected);
    }

    #[test]
    fn the_worst_rank_is_named_and_one_that_is_too_slow_counts() {
        let members = vec![member(0, "clean", None), member(1, "corrected", None)];
        let ranks = Audit::of(&log(members)).ranks.unwrap();
        assert_eq!((ranks.worst.clone().unwrap().rank, ranks.limited()), (1, None));
        let members = vec![member(0, "corrected", None), member(1, "client-limited", None)];
        let audit = Audit::of(&log(members));
        let reason = "rank 1 (host-1) did not carry its part: it was busy";
        assert_eq!(audit.load.reasons[0].reason, reason);
        let mut members = vec![member(0, "clean", None), member(1, "client-limited", None)];
        (members[0].machine.cores, members[1].machine.cores) = (8, 2);
        let audit = Audit::of(&log(members));
        let weak = format!("{reason}; it has 2 cores for an equal share, and others have up to 8");
        assert_eq!(audit.load.reasons[0].reason, weak);
        assert_eq!(
            Audit::of(&log(vec![member(0, "clean", None)])).load.verdict,
            LoadVerdict::Carried
        );
    }
}
