//! A load that was tried, in one round or several.

use std::fmt;

use serde::Serialize;
use servemark_metrics::{
    Evidence, Growth, Judgement, LoadEvidence, MetricPolicy, Objective, Standing, Stretch,
    UndecidedReason, load_doubt,
};
use servemark_plan::{LoadStanding, SloSearchSpec, SloTier};

use crate::{Origin, PointRun, PointScore};

/// A load that was tried, and what is known of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trial {
    /// The load.
    pub value: f64,
    /// What it comes to in each tier, in the order of the tiers.
    pub verdicts: Vec<TrialVerdict>,
    /// What all rounds together show of each objective of any tier.
    pub judgements: Vec<Judgement>,
    /// Whether a backlog grew.
    pub growth: Option<Growth>,
    /// By how many requests it was judged.
    pub requests: usize,
    /// In how many of the rounds the client kept up with the load; the others are not judged.
    pub usable: u32,
    /// The rounds, with their numbers.
    pub rounds: Vec<PointScore>,
    /// Whether the last of them was run before this search was stopped and begun again.
    pub origin: Origin,
    knob: String,
    tiers: Vec<SloTier>,
    evidence: Evidence,
    /// Why the load of a round was not the one that was asked for.
    doubt: Option<UndecidedReason>,
}

/// What a load comes to. Closed: scripts may rely on these.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialVerdict {
    /// Every objective holds.
    Holds,
    /// One at least is missed.
    Misses,
    /// A backlog grew: the server is asked for more than it can do, and latencies are a matter of
    /// how long one looks.
    Grows,
    /// All rounds are used up and nobody can say.
    Undecided,
    /// The client did not offer the load, so nothing is known of the server.
    ClientLimited,
    /// Another round follows.
    Open,
}

impl TrialVerdict {
    /// What the load is to a search, if that is known.
    pub fn standing(self) -> Option<LoadStanding> {
        match self {
            Self::Holds => Some(LoadStanding::Holds),
            Self::Grows | Self::Misses => Some(LoadStanding::Fails),
            Self::Undecided => Some(LoadStanding::Undecided),
            Self::ClientLimited => Some(LoadStanding::NotOffered),
            Self::Open => None,
        }
    }

    /// How it is written in tables.
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
            knob: spec.knob.short(),
            tiers,
            evidence: Evidence::of(&spec.objectives()),
            doubt: None,
        }
    }

    /// What the load comes to in the first tier, which is the only one of most searches.
    pub fn verdict(&self) -> TrialVerdict {
        self.verdicts.first().copied().unwrap_or(TrialVerdict::Open)
    }

    /// What it shows of the capacity.
    pub(super) fn shown(&self) -> LoadEvidence<'_> {
        LoadEvidence { load: self.value, judgements: &self.judgements, growth: self.growth }
    }

    pub(super) fn is_of(&self, value: f64) -> bool {
        self.value.total_cmp(&value).is_eq()
    }

    /// The number of the next round, from zero.
    pub(super) fn round(&self) -> u32 {
        self.rounds.len() as u32
    }

    /// Whether no round is left.
    pub(super) fn has_all_rounds(&self, spec: &SloSearchSpec) -> bool {
        self.round() >= spec.effort.rounds.get()
    }

    /// Takes the next round in, and judges by the gate of a single run. A round in which the client was
    /// the limit says nothing of the server.
    pub(super) fn add(&mut self, done: PointRun, policy: &MetricPolicy, spec: &SloSearchSpec) {
        match load_doubt(&done.run.log, &done.run.audit) {
            Some(UndecidedReason::ClientLimited) => {}
            doubt => {
                self.usable += 1;
                self.doubt = self.doubt.or(doubt);
                let stretch = Stretch::Settled(spec.effort.settling);
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

    /// What the judgements of some objectives come to, of which there are at most so many rounds.
    fn judged(&self, objectives: &[Objective], most: u32) -> TrialVerdict {
        let own = self.judgements.iter().filter(|known| objectives.contains(&known.objective));
        let worst = own.map(|judgement| judgement.standing).max();
        let is_last = self.round() >= most;
        match worst.unwrap_or(Standing::Undecided) {
            Standing::Fails => TrialVerdict::Misses,
            _ if self.growth.is_some() && (is_last || self.usable > 1) => TrialVerdict::Grows,
            Standing::Holds => TrialVerdict::Holds,
            Standing::Undecided if is_last && self.usable == 0 => TrialVerdict::ClientLimited,
            Standing::Undecided if is_last => TrialVerdict::Undecided,
            Standing::Undecided => TrialVerdict::Open,
        }
    }
}

/// A line for who waits for the next.
impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { knob, value, requests, .. } = self;
        write!(f, "{knob}={value}: ")?;
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
        let mut judgements = self.judgements.iter();
        judgements.try_for_each(|judgement| write!(f, "; {judgement}"))?;
        self.growth.map_or(Ok(()), |growth| write!(f, "; {growth}"))
    }
}
