//! Judges a single run's objectives, and whether the run may hold them.

use servemark_core::RunLog;

use super::{Evidence, JudgedPart, Judgement, SloVerdict, UndecidedReason};
use crate::{Audit, MetricPolicy, Objective, Verdict, waits};

/// Judges one run by all its requests and the intervals of this confidence.
///
/// An objective never holds for a run whose backlog grew, whose client was the limit, or that did
/// not offer the load that was asked for: such a run shows another load. An objective that fails
/// still fails.
pub fn gate(
    log: &RunLog,
    audit: &Audit,
    objectives: &[Objective],
    policy: &MetricPolicy,
    confidence: f64,
) -> Vec<Judgement> {
    let mut evidence = Evidence::of(objectives);
    evidence.add(log, policy, JudgedPart::Whole);
    evidence.gate(confidence, load_doubt(log, audit))
}

impl Evidence {
    /// Judges the objectives as [`Evidence::judge`] does. None holds if a backlog grew, or if there
    /// is `doubt` that the load was the one that was asked for.
    pub fn gate(&self, confidence: f64, doubt: Option<UndecidedReason>) -> Vec<Judgement> {
        let grows = || self.backlog().map(|growth| UndecidedReason::Grows { growth });
        // A client that sends late makes responses late, too.
        let doubt = match doubt {
            Some(UndecidedReason::ClientLimited) => doubt,
            doubt => grows().or(doubt),
        };
        let mut judgements = self.judge(confidence);
        for judgement in &mut judgements {
            if let Some(doubt) = doubt.filter(|_| judgement.verdict == SloVerdict::Holds) {
                judgement.verdict = SloVerdict::Undecided;
                judgement.doubt = Some(doubt);
            }
        }
        judgements
    }
}

/// Returns why a run shows another load than the one that was asked for: its client was the limit,
/// or it sent less than planned.
pub fn load_doubt(log: &RunLog, audit: &Audit) -> Option<UndecidedReason> {
    let rates = waits::Rates::of(log);
    let is_open_loop = rates.asked_per_s.is_some();
    if audit.verdict == Verdict::ClientLimited {
        return Some(UndecidedReason::ClientLimited);
    }
    let (planned, offered) = (rates.scheduled_per_s?, rates.sent_per_s?);
    let is_less = is_open_loop && offered < OFFERED * planned;
    is_less.then_some(UndecidedReason::LessLoad { planned, offered })
}

/// Share of the planned rate below which a run counts as a run at another load.
const OFFERED: f64 = 0.97;
