//! Compares one or several runs before a change with those after it, and tests whether differences
//! are more than chance.

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

/// Runs before and after a change, compared figure by figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// Changes of the figures that both sides have, in the order in which the caller asked for
    /// them.
    pub changes: Vec<Change>,
    /// Number of runs before and after.
    pub runs: [usize; 2],
    /// Reasons why the figures of a run cannot be compared.
    pub doubts: Vec<Doubt>,
    /// Whether changes are called better or worse: true if there is no doubt, or if doubts are
    /// overridden.
    pub is_judged: bool,
}

/// One figure before and after the change. For a side with several runs the value is their mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// The compared figure.
    pub figure: Figure,
    /// Value before the change.
    pub before: f64,
    /// Value after the change.
    pub after: f64,
    /// Number of runs before and after that have the figure.
    pub runs: [usize; 2],
    /// Confidence interval of the change at 99 %; absent if the runs do not suffice for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<ChangeInterval>,
    /// Confidence interval of the change at 95 %, which tolerances are judged by; absent if the
    /// runs do not suffice for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_95: Option<ChangeInterval>,
    /// Smallest change, in percent, for which the 99 % interval excludes zero in eight of ten
    /// comparisons of runs like these; absent without an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detectable_percent: Option<f64>,
    /// Data that the change is judged by; absent if the change is not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// Whether the change is more than chance. All figures of the comparison are tested at once:
    /// chance alone makes any of them pass in at most one of a hundred comparisons.
    pub is_beyond_chance: bool,
    /// Standard deviation between the runs of a side, in percent of the figure, without the chance
    /// within each run; absent if each side is one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between_runs_percent: Option<f64>,
    /// Standard error of the figure from the requests of one run, in percent of the figure; absent
    /// if the runs do not suffice for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_run_percent: Option<f64>,
}

/// Confidence interval of a change, in percent of the value before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChangeInterval {
    /// Lower end in percent.
    pub low_percent: f64,
    /// Upper end in percent.
    pub high_percent: f64,
}

/// Data that a change is judged by.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The requests of one run on each side. Differences that occur between any two runs are not
    /// accounted for.
    Requests,
    /// The differences between the requests of one run on each side, where both runs sent the same
    /// requests.
    PairedRequests,
    /// The figures of the runs on each side (Welch's test).
    Runs,
    /// The figures of pairs of runs that sent the same requests.
    PairedRuns,
    /// The counts of all runs (Fisher's exact test).
    Counts,
}

/// Significance of a change. The enum is closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Significance {
    /// The figure is better, by more than chance.
    Better,
    /// The figure is worse, by more than chance.
    Worse,
    /// The figure did not change, or chance alone explains the change.
    Same,
    /// The client of a run was at its limit or suspect, so the change may come from the client.
    NotJudged,
    /// The effect of chance is not known.
    Unknown,
}

impl ChangeInterval {
    pub(crate) fn of_logs((low, high): (f64, f64)) -> Self {
        let percent = |log: f64| log.exp_m1() * 100.0;
        Self { low_percent: percent(low), high_percent: percent(high) }
    }

    /// Returns the change that the interval detects with a power of 80 %. It lies 0.84 standard
    /// errors beyond half the width of the 99 % interval, which is 2.6 standard errors with many
    /// degrees of freedom and 3.4 with eight.
    fn detectable_percent(self) -> f64 {
        let log = |percent: f64| (percent / 100.0).ln_1p();
        let half = (log(self.high_percent) - log(self.low_percent)) / 2.0;
        (half * FOR_POWER).exp_m1() * 100.0
    }

    fn holds_zero(self) -> bool {
        (self.low_percent..=self.high_percent).contains(&0.0)
    }
}

/// Displays the interval as `[-0.4, +6.8]`; an upper end of a thousand percent or more is `any`.
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
    /// Computes the change of one figure, without the test over all figures.
    fn of(sides: &Sides<'_>, figure: Figure) -> Option<Self> {
        let ([before, after], runs) = sides.run_means(figure)?;
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

    /// Returns the change, after minus before.
    pub fn delta(&self) -> f64 {
        self.after - self.before
    }

    /// Returns the change in percent of the value before; infinite if that value was zero and the
    /// other is not.
    pub fn percent(&self) -> f64 {
        match (self.before.abs() > NOTHING, self.after.abs() > NOTHING) {
            (true, _) => self.delta() / self.before * 100.0,
            (false, true) => f64::INFINITY,
            (false, false) => 0.0,
        }
    }

    /// Returns whether the figure is better, without regard to chance; absent if it did not change.
    pub fn is_better(&self) -> Option<bool> {
        let delta = self.delta();
        let is_better = match self.figure.better() {
            Better::Higher => delta > 0.0,
            Better::Lower => delta < 0.0,
        };
        (delta.abs() > NOTHING).then_some(is_better)
    }

    /// Returns the significance of the change, provided that the audits of both sides are in order.
    pub fn significance(&self) -> Significance {
        match (self.is_better(), self.basis) {
            (Some(_), None) => Significance::Unknown,
            (Some(true), _) if self.is_beyond_chance => Significance::Better,
            (Some(false), _) if self.is_beyond_chance => Significance::Worse,
            _ => Significance::Same,
        }
    }
}

/// Absolute values up to this count as zero.
const NOTHING: f64 = 1e-10;

impl Comparison {
    /// Compares runs, one or several on either side. Figures that one side lacks are left out.
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

    /// Compares two sets of values whose uncertainty is not known.
    pub fn of(
        figures: &[Figure],
        before: impl Fn(Figure) -> Option<f64>,
        after: impl Fn(Figure) -> Option<f64>,
    ) -> Self {
        let before = ComparedRun::of_values(figures, before);
        Self::of_runs(&[before], &[ComparedRun::of_values(figures, after)], figures)
    }

    /// Adds doubts about the runs. Changes are not judged if there is any doubt. If the client's own clock
    /// timed the answers of all runs, and nothing else is in doubt, its lag is on both sides and no doubt.
    #[must_use]
    pub fn with_doubts(mut self, doubts: impl IntoIterator<Item = Doubt>) -> Self {
        self.doubts.extend(doubts);
        let by_clock = self.doubts.iter().filter(|doubt| doubt.is_of_clock_alone).count();
        if by_clock == self.runs.iter().sum::<usize>() {
            self.doubts.clear();
        }
        self.is_judged = self.doubts.is_empty();
        self
    }

    /// Judges changes in spite of any doubt.
    #[must_use]
    pub fn judged_anyway(self) -> Self {
        Self { is_judged: true, ..self }
    }

    /// Returns the significance of a change of this comparison.
    pub fn significance_of(&self, change: &Change) -> Significance {
        if self.is_judged { change.significance() } else { Significance::NotJudged }
    }

    /// Returns whether a change of this comparison is better; absent if the figure did not change
    /// or is not judged.
    pub fn is_better(&self, change: &Change) -> Option<bool> {
        change.is_better().filter(|_| self.is_judged)
    }

    /// Returns the change of a figure, if both sides have it.
    pub fn change_of(&self, figure: Figure) -> Option<&Change> {
        self.changes.iter().find(|change| change.figure == figure)
    }

    /// Returns the conditions that are met, and those that cannot be checked.
    pub fn broken<'a>(&'a self, conditions: &'a [Condition]) -> impl Iterator<Item = Broken<'a>> {
        conditions.iter().filter_map(|condition| condition.broken_by(self))
    }
}

/// Distance from zero, in half widths of its 99 % interval, at which a change is detected eight
/// times in ten.
const FOR_POWER: f64 = 1.3;
/// Significance level of the whole family of figures: the probability that chance alone makes any
/// of them change.
const LEVEL: f64 = 0.01;
