//! A load that was tried, in one round or several.

use std::fmt;

use serde::Serialize;
use servemark_metrics::{Evidence, Growth, Judgement, MetricPolicy, Standing, Stretch};
use servemark_plan::SloSearchSpec;

use crate::{Origin, PointRun, PointScore};

/// A load that was tried, and what is known of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trial {
    /// The load.
    pub value: f64,
    /// What it comes to.
    pub verdict: TrialVerdict,
    /// What all rounds together show of each objective.
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
    evidence: Evidence,
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
    /// All rounds are used up and nobody can say; it counts as missed.
    Undecided,
    /// The client did not offer the load; it counts as missed.
    ClientLimited,
    /// Another round follows.
    Open,
}

impl TrialVerdict {
    /// Whether the load counts as held, if that is known.
    pub fn holds(self) -> Option<bool> {
        match self {
            Self::Holds => Some(true),
            Self::ClientLimited | Self::Grows | Self::Misses | Self::Undecided => Some(false),
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
        Self {
            value,
            verdict: TrialVerdict::Open,
            judgements: Vec::new(),
            growth: None,
            requests: 0,
            usable: 0,
            rounds: Vec::new(),
            origin: Origin::Measured,
            knob: spec.knob.short(),
            evidence: Evidence::of(&spec.slo.objectives),
        }
    }

    pub(super) fn is_of(&self, value: f64) -> bool {
        self.value.total_cmp(&value).is_eq()
    }

    /// The how-manieth round is next, from zero.
    pub(super) fn round(&self) -> u32 {
        self.rounds.len() as u32
    }

    /// Takes the next round in, and judges. A round in which the client was the limit says nothing
    /// of the server.
    pub(super) fn add(
        &mut self,
        done: PointRun,
        is_usable: bool,
        policy: &MetricPolicy,
        spec: &SloSearchSpec,
    ) {
        if is_usable {
            self.usable += 1;
            let stretch = Stretch::Settled(spec.effort.settling);
            self.evidence.add(&done.run.log, policy, stretch);
        }
        self.origin = done.origin;
        self.requests = self.evidence.requests();
        self.rounds.push(done.score());
        self.judgements = self.evidence.judge(spec.confidence_of_round());
        self.growth = self.evidence.growth().filter(|_| self.is_open_loop());
        self.verdict = self.judged(spec.effort.rounds.get());
    }

    /// Where a limit of concurrency alone is the load, requests come when others have ended.
    fn is_open_loop(&self) -> bool {
        self.rounds.iter().any(|round| round.metrics.rates.asked_per_s.is_some())
    }

    fn judged(&self, most: u32) -> TrialVerdict {
        let worst = self.judgements.iter().map(|judgement| judgement.standing).max();
        let is_last = self.round() >= most;
        match worst.unwrap_or(Standing::Undecided) {
            Standing::Fails => TrialVerdict::Misses,
            _ if self.growth.is_some() && (is_last || self.usable > 1) => TrialVerdict::Grows,
            Standing::Holds if self.growth.is_none() => TrialVerdict::Holds,
            _ if is_last && self.usable == 0 => TrialVerdict::ClientLimited,
            _ if is_last => TrialVerdict::Undecided,
            _ => TrialVerdict::Open,
        }
    }
}

/// A line for who waits for the next.
impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { knob, value, verdict, requests, .. } = self;
        write!(f, "{knob}={value}: ")?;
        match verdict {
            TrialVerdict::Open => f.write_str("not decided yet")?,
            verdict => f.write_str(verdict.name())?,
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
