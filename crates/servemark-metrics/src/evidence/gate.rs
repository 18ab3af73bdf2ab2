//! What a single run shows of its objectives, and whether it may be said to hold them.

use servemark_core::RunLog;

use super::{Evidence, Judgement, Standing, Stretch, UndecidedReason};
use crate::{Audit, MetricPolicy, Objective, Verdict, waits};

/// Judges one run, all its requests counted, each side with this confidence.
///
/// An objective is never held by a run whose backlog grew, whose client was the limit, or that did not
/// offer the load that it was asked for: what it shows is then another load's. A miss stays a miss.
pub fn gate(
    log: &RunLog,
    audit: &Audit,
    objectives: &[Objective],
    policy: &MetricPolicy,
    confidence: f64,
) -> Vec<Judgement> {
    let mut evidence = Evidence::of(objectives);
    evidence.add(log, policy, Stretch::Whole);
    evidence.gate(confidence, load_doubt(log, audit))
}

impl Evidence {
    /// Judges the objectives as [`Evidence::judge`] does. None is held where a backlog grew, or where
    /// there is `doubt` that the load was the one that was asked for.
    pub fn gate(&self, confidence: f64, doubt: Option<UndecidedReason>) -> Vec<Judgement> {
        let grows = self.backlog().map(|growth| UndecidedReason::Grows { growth });
        let doubt = grows.or(doubt);
        let mut judgements = self.judge(confidence);
        for judgement in &mut judgements {
            if let Some(doubt) = doubt.filter(|_| judgement.standing == Standing::Holds) {
                judgement.standing = Standing::Undecided;
                judgement.doubt = Some(doubt);
            }
        }
        judgements
    }
}

/// Why a run shows another load than the one that was asked for: its client was the limit, or less was
/// sent than planned.
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

/// A run that offers less than this share of its planned rate is a run at another load.
const OFFERED: f64 = 0.97;
