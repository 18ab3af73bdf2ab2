//! A load of a search, tried in one or more rounds.

use std::fmt;

use serde::Serialize;
use servemark_metrics::{
    BacklogTrend, Evidence, JudgedPart, Judgement, LoadEvidence, MetricPolicy, Objective,
    SloVerdict, UndecidedReason, load_doubt,
};
use servemark_plan::{LoadOutcome, SloSearchSpec, SloTier};

use crate::{Origin, PointRun, PointScore};

/// A load that was tried, and its results.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Value of the load in the unit of the searched setting.
    pub value: f64,
    /// Verdict on the load for each tier, in the order of the tiers.
    pub verdicts: Vec<TrialVerdict>,
    /// Judgement of each objective of any tier, from all rounds together.
    pub judgements: Vec<Judgement>,
    /// Trend of the backlog, if it grew.
    pub growth: Option<BacklogTrend>,
    /// Number of requests that were judged.
    pub requests: usize,
    /// Number of rounds in which the client kept up with the load; the other rounds are not
    /// judged.
    pub usable: u32,
    /// Scores of the rounds in order.
    pub rounds: Vec<PointScore>,
    /// Whether the last round was run by this process or read from an earlier run log.
    pub origin: Origin,
    setting: String,
    tiers: Vec<SloTier>,
    evidence: Evidence,
    /// Reason why a round's load differs from the requested load.
    doubt: Option<UndecidedReason>,
}

/// Verdict on a load. The names are stable, so scripts may rely on them.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialVerdict {
    /// Every objective holds.
    Holds,
    /// At least one objective is missed.
    Misses,
    /// A backlog grew: the load exceeds the server's capacity, and latencies depend on the length
    /// of the run.
    Grows,
    /// All rounds are used up and the objectives are undecided.
    Undecided,
    /// The client did not offer the load, so nothing is known of the server.
    ClientLimited,
    /// The load needs another round.
    Open,
}

impl TrialVerdict {
    /// Returns the load's verdict in the search, if the verdict is final.
    pub fn outcome(self) -> Option<LoadOutcome> {
        match self {
            Self::Holds => Some(LoadOutcome::Holds),
            Self::Grows | Self::Misses => Some(LoadOutcome::Fails),
            Self::Undecided => Some(LoadOutcome::Undecided),
            Self::ClientLimited => Some(LoadOutcome::NotOffered),
            Self::Open => None,
        }
    }

    /// Returns the name of the verdict in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Misses => "misses",
            Self::Grows => "grows",
            Self::Undecided => "undecided",
            Self::ClientLimited => "client-limited",
            Self::Open => "open",
        }
    }
}

impl Trial {
    pub(super) fn new(value: f64, spec: &SloSearchSpec) -> Self {
        let tiers = spec.tiers();
        Self {
            value,
            verdicts: vec![TrialVerdict::Open; tiers.len()],
            judgements: Vec::new(),
            growth: None,
            requests: 0,
            usable: 0,
            rounds: Vec::new(),
            origin: Origin::Measured,
            setting: spec.setting.short(),
            tiers,
            evidence: Evidence::of(&spec.objectives()),
            doubt: None,
        }
    }

    /// Returns the verdict for the first tier, which is the only tier of most searches.
    pub fn verdict(&self) -> TrialVerdict {
        self.verdicts.first().copied().unwrap_or(TrialVerdict::Open)
    }

    /// Returns the load's evidence for the capacity estimate.
    pub(super) fn evidence(&self) -> LoadEvidence<'_> {
        LoadEvidence { load: self.value, judgements: &self.judgements, growth: self.growth }
    }

    pub(super) fn is_of(&self, value: f64) -> bool {
        self.value.total_cmp(&value).is_eq()
    }

    /// Returns the zero-based number of the next round.
    pub(super) fn round(&self) -> u32 {
        self.rounds.len() as u32
    }

    /// Returns whether all rounds are used up.
    pub(super) fn has_all_rounds(&self, spec: &SloSearchSpec) -> bool {
        self.round() >= spec.effort.rounds.get()
    }

    /// Adds the next round and judges the load as a single run would be judged. A round in which
    /// the client was the limit shows nothing of the server.
    pub(super) fn add(&mut self, done: PointRun, policy: &MetricPolicy, spec: &SloSearchSpec) {
        match load_doubt(&done.run.log, &done.run.audit) {
            Some(UndecidedReason::ClientLimited) => {}
            doubt => {
                self.usable += 1;
                self.doubt = self.doubt.or(doubt);
                let stretch = JudgedPart::SettledLoad(spec.effort.settling);
                self.evidence.add(&done.run.log, policy, stretch);
            }
        }
        self.origin = done.origin;
        self.requests = self.evidence.requests();
        self.rounds.push(done.score());
        self.judgements = self.evidence.gate(spec.confidence_of_round(), self.doubt);
        self.growth = self.evidence.backlog();
        let most = spec.effort.rounds.get();
        self.verdicts = self.tiers.iter().map(|tier| self.judged(&tier.objectives, most)).collect();
    }

    /// Writes the judgement on each objective, and the growth of a backlog if no judgement has it.
    pub(super) fn write_evidence(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, judgement) in self.judgements.iter().enumerate() {
            write!(f, "{}{judgement}", if index == 0 { "" } else { "; " })?;
        }
        let is_told =
            |judgement: &Judgement| matches!(judgement.doubt, Some(UndecidedReason::Grows { .. }));
        let untold = self.growth.filter(|_| !self.judgements.iter().any(is_told));
        untold.map_or(Ok(()), |growth| write!(f, "; {growth}"))
    }

    /// Returns the verdict for a set of objectives, given a maximum of `most` rounds.
    fn judged(&self, objectives: &[Objective], most: u32) -> TrialVerdict {
        let own = self.judgements.iter().filter(|known| objectives.contains(&known.objective));
        let worst = own.map(|judgement| judgement.verdict).max();
        let is_last = self.round() >= most;
        match worst.unwrap_or(SloVerdict::Undecided) {
            SloVerdict::Fails => TrialVerdict::Misses,
            _ if self.growth.is_some() && (is_last || self.usable > 1) => TrialVerdict::Grows,
            SloVerdict::Holds => TrialVerdict::Holds,
            SloVerdict::Undecided if is_last && self.usable == 0 => TrialVerdict::ClientLimited,
            SloVerdict::Undecided if is_last => TrialVerdict::Undecided,
            SloVerdict::Undecided => TrialVerdict::Open,
        }
    }
}

/// Writes one line with the results so far.
impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setting, value, requests, .. } = self;
        write!(f, "{setting}={value}: ")?;
        for (index, (tier, verdict)) in self.tiers.iter().zip(&self.verdicts).enumerate() {
            let before = if index == 0 { "" } else { ", " };
            let name = if tier.name.is_empty() { "" } else { &format!("{} ", tier.name) };
            let verdict = match verdict {
                TrialVerdict::Open => "not decided yet",
                verdict => verdict.name(),
            };
            write!(f, "{before}{name}{verdict}")?;
        }
        write!(f, " by {requests} requests")?;
        if self.usable < self.round() {
            let (usable, rounds) = (self.usable, self.round());
            write!(
                f,
                " of {usable} in {rounds} rounds (the client did not keep up in the others)"
            )?;
        }
        f.write_str("; ")?;
        self.write_evidence(f)
    }
}
