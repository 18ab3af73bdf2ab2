//! What changed from one run, or several, to another, and whether that is more than chance.

mod doubt;
mod gate;
mod intervals;
mod run;
mod tolerance;

use std::fmt;

use serde::Serialize;

pub use self::doubt::{ComparedSide, Doubt};
pub use self::gate::{Bound, Broken, Condition};
use self::intervals::{Sides, beyond_chance};
pub use self::run::ComparedRun;
pub use self::tolerance::{Tolerance, ToleranceJudgement};
use crate::{Better, Figure};

/// Runs before and after a change, figure by figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// What both sides have a figure for, in the order that was asked for.
    pub changes: Vec<Change>,
    /// Number of runs before and after.
    pub runs: [usize; 2],
    /// Why the figures of a run cannot be compared.
    pub doubts: Vec<Doubt>,
    /// Whether changes are called better or worse: where there is no doubt, or in spite of it.
    pub is_judged: bool,
}

/// One figure before and after. Where a side has several runs its value is their mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// Which figure.
    pub figure: Figure,
    /// What it was.
    pub before: f64,
    /// What it is.
    pub after: f64,
    /// Number of runs before and after that have the figure.
    pub runs: [usize; 2],
    /// Where the change lies with 99 % confidence; absent where the runs cannot tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<ChangeInterval>,
    /// Where the change lies with 95 % confidence, by which tolerances are judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_95: Option<ChangeInterval>,
    /// The change, in percent, of which the 99 % interval leaves zero out in eight of ten comparisons of
    /// runs like these; absent where there is no interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detectable_percent: Option<f64>,
    /// What the change is judged by; absent where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// Whether it is more than chance, with all figures of the comparison tested at once: chance makes
    /// one of them pass in at most one of a hundred comparisons.
    pub is_beyond_chance: bool,
    /// Standard deviation between the runs of a side in percent of the figure, apart from the chance
    /// within each; absent where each side is one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between_runs_percent: Option<f64>,
    /// Standard error by the requests of one run in percent of the figure; absent where the runs
    /// cannot tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_run_percent: Option<f64>,
}

/// Where a change lies, in percent of what was before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChangeInterval {
    /// The lower end.
    pub low_percent: f64,
    /// The upper end.
    pub high_percent: f64,
}

/// What a change is judged by.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Basis {
    /// The requests of one run on each side. What differs between any two runs is not in it.
    Requests,
    /// The differences between requests of one run on each side, which sent the same ones.
    PairedRequests,
    /// The figures of runs (Welch).
    Runs,
    /// The figures of runs in pairs that sent the same requests.
    PairedRuns,
    /// Counts of all runs (Fisher's exact test).
    Counts,
}

/// What a change is worth. Closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Worth {
    /// It is better, and by more than chance.
    Better,
    /// It is worse, and by more than chance.
    Worse,
    /// There is none, or chance alone would make it.
    Same,
    /// The client of a run was at its limit or suspect, so the change may be the client's.
    NotJudged,
    /// Nobody can tell what chance would do.
    Unknown,
}

impl ChangeInterval {
    pub(crate) fn of_logs((low, high): (f64, f64)) -> Self {
        let percent = |log: f64| log.exp_m1() * 100.0;
        Self { low_percent: percent(low), high_percent: percent(high) }
    }

    /// Beyond half the width of an interval of 99 % lie another 0.84 standard errors, of which the half
    /// width is 2.6 with many degrees of freedom and 3.4 with eight.
    fn detectable_percent(self) -> f64 {
        let log = |percent: f64| (percent / 100.0).ln_1p();
        let half = (log(self.high_percent) - log(self.low_percent)) / 2.0;
        (half * FOR_POWER).exp_m1() * 100.0
    }

    fn holds_zero(self) -> bool {
        (self.low_percent..=self.high_percent).contains(&0.0)
    }
}

/// `[-0.4, +6.8]`; an upper end of a thousand percent or more is `any`.
impl fmt::Display for ChangeInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{:+.1}, ", self.low_percent)?;
        if self.high_percent < 1000.0 {
            write!(f, "{:+.1}]", self.high_percent)
        } else {
            f.write_str("any]")
        }
    }
}

impl Change {
    /// The change of a figure by itself, without a test.
    fn of(sides: &Sides<'_>, figure: Figure) -> Option<Self> {
        let ([before, after], runs) = sides.means(figure)?;
        let found = sides.interval(figure, 1.0 - LEVEL);
        let counted = sides.chance_of(figure).map(|_| Basis::Counts);
        let within = sides.within_run(figure);
        Some(Self {
            figure,
            before,
            after,
            runs,
            interval: found.map(|(interval, _)| interval),
            interval_95: sides.interval(figure, 0.95).map(|(interval, _)| interval),
            detectable_percent: found.map(|(interval, _)| interval.detectable_percent()),
            basis: counted.or(found.map(|(_, basis)| basis)),
            is_beyond_chance: false,
            between_runs_percent: sides.between_runs(figure, within).map(|part| part * 100.0),
            within_run_percent: within.map(|part| part * 100.0),
        })
    }

    /// By how much it changed.
    pub fn delta(&self) -> f64 {
        self.after - self.before
    }

    /// By how many percent; infinite where there was nothing before.
    pub fn percent(&self) -> f64 {
        match (self.before.abs() > NOTHING, self.after.abs() > NOTHING) {
            (true, _) => self.delta() / self.before * 100.0,
            (false, true) => f64::INFINITY,
            (false, false) => 0.0,
        }
    }

    /// Whether it is better or worse, whatever chance does; nothing where it did not change.
    pub fn is_better(&self) -> Option<bool> {
        let delta = self.delta();
        let is_better = match self.figure.better() {
            Better::Higher => delta > 0.0,
            Better::Lower => delta < 0.0,
        };
        (delta.abs() > NOTHING).then_some(is_better)
    }

    /// What it is worth, if the numbers are the servers'.
    pub fn worth(&self) -> Worth {
        match (self.is_better(), self.basis) {
            (Some(_), None) => Worth::Unknown,
            (Some(true), _) if self.is_beyond_chance => Worth::Better,
            (Some(false), _) if self.is_beyond_chance => Worth::Worse,
            _ => Worth::Same,
        }
    }
}

/// Numbers closer to zero than this are zero.
const NOTHING: f64 = 1e-10;

impl Comparison {
    /// Compares runs, one or several on either side. What a side lacks is left out.
    pub fn of_runs(before: &[ComparedRun], after: &[ComparedRun], figures: &[Figure]) -> Self {
        let sides = Sides { before, after };
        let mut changes: Vec<Change> =
            figures.iter().filter_map(|figure| Change::of(&sides, *figure)).collect();
        let tested = changes.iter().filter(|change| change.basis.is_some());
        let beyond = beyond_chance(&sides, tested.map(|change| change.figure), LEVEL);
        for change in &mut changes {
            change.is_beyond_chance = beyond.contains(&change.figure);
        }
        let runs = [sides.before.len(), sides.after.len()];
        Self { changes, runs, doubts: Vec::new(), is_judged: true }
    }

    /// Compares two sets of values, of which nobody knows how sure they are.
    pub fn of(
        figures: &[Figure],
        before: impl Fn(Figure) -> Option<f64>,
        after: impl Fn(Figure) -> Option<f64>,
    ) -> Self {
        let before = ComparedRun::of_values(figures, before);
        Self::of_runs(&[before], &[ComparedRun::of_values(figures, after)], figures)
    }

    /// Adds doubts about the runs. Changes are not judged where there is one.
    #[must_use]
    pub fn with_doubts(mut self, doubts: impl IntoIterator<Item = Doubt>) -> Self {
        self.doubts.extend(doubts);
        self.is_judged = self.doubts.is_empty();
        self
    }

    /// Judges changes in spite of any doubt.
    #[must_use]
    pub fn judged_anyway(self) -> Self {
        Self { is_judged: true, ..self }
    }

    /// What a change of this comparison is worth.
    pub fn worth_of(&self, change: &Change) -> Worth {
        if self.is_judged { change.worth() } else { Worth::NotJudged }
    }

    /// Whether a change of this comparison is better or worse; nothing where it did not change or is
    /// not judged.
    pub fn is_better(&self, change: &Change) -> Option<bool> {
        change.is_better().filter(|_| self.is_judged)
    }

    /// The change of a figure, if both sides have it.
    pub fn change_of(&self, figure: Figure) -> Option<&Change> {
        self.changes.iter().find(|change| change.figure == figure)
    }

    /// The conditions that hold, and those that nobody can check.
    pub fn broken<'a>(&'a self, conditions: &'a [Condition]) -> impl Iterator<Item = Broken<'a>> {
        conditions.iter().filter_map(|condition| condition.broken_by(self))
    }
}

/// By how many half widths of its 99 % interval a change must be off zero to be seen eight times in ten.
const FOR_POWER: f64 = 1.3;
/// The level of the whole family of figures: how often chance alone makes any of them change.
const LEVEL: f64 = 0.01;
