//! Two runs, number by number: what changed, and whether that is more than chance.

mod doubt;
mod gate;
mod noise;
mod units;

use serde::Serialize;
use servemark_core::RunLog;

pub use self::doubt::{ComparedSide, Doubt};
pub use self::gate::{Bound, Broken, Condition};
use self::noise::Bootstrap;
use self::units::Units;
use crate::{Better, Figure, MetricPolicy, Metrics, Part, RequestScore};

/// Two runs, number by number.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// What both runs have a number for, in the order that was asked for.
    pub changes: Vec<Change>,
    /// Why the numbers of a run cannot be compared.
    pub doubts: Vec<Doubt>,
    /// Whether changes are called better or worse: where there is no doubt, or in spite of it.
    pub is_judged: bool,
}

/// One number before and after.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// Which number.
    pub figure: Figure,
    /// What it was.
    pub before: f64,
    /// What it is.
    pub after: f64,
    /// Where the difference lies if chance is allowed for; absent where nobody can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<ChangeInterval>,
}

/// Where a difference lies with 99 % confidence: between these two.
///
/// It is found by drawing each run's requests again and again, as often as there are, some twice
/// and some not at all (the bootstrap); a rate is drawn from twenty equal parts of the run's time.
/// It knows the chance within these two runs and nothing of what differs between any two, such as
/// the machine's other load: several runs tell that.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChangeInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// What a change is worth. Closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Worth {
    /// It is better, and by more than chance.
    Better,
    /// It is worse, and by more than chance.
    Worse,
    /// Chance alone would do it.
    Noise,
    /// The client of a run was at its limit or suspect, so the change may be the client's.
    NotJudged,
    /// Nobody can tell what chance would do.
    Unknown,
}

impl ChangeInterval {
    fn holds_zero(self) -> bool {
        (self.low..=self.high).contains(&0.0)
    }
}

impl Change {
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
        match (self.interval, self.is_better()) {
            (None, _) => Worth::Unknown,
            (Some(interval), _) if interval.holds_zero() => Worth::Noise,
            (_, Some(true)) => Worth::Better,
            (_, Some(false)) => Worth::Worse,
            (_, None) => Worth::Noise,
        }
    }
}

/// Numbers closer to zero than this are zero.
const NOTHING: f64 = 1e-10;

/// A run with all that a comparison asks of it.
#[derive(Debug)]
pub struct ScoredRun<'a> {
    log: &'a RunLog,
    metrics: Metrics,
    scores: Vec<RequestScore<'a>>,
}

impl<'a> ScoredRun<'a> {
    /// A run by a policy's definitions.
    pub fn of(log: &'a RunLog, policy: &MetricPolicy) -> Self {
        let scores = RequestScore::of_log(log, policy);
        Self { log, metrics: Metrics::of_scores(log, policy, &scores), scores }
    }

    /// Its numbers.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The log that they are of.
    pub fn log(&self) -> &'a RunLog {
        self.log
    }
}

impl Comparison {
    /// Compares numbers, wherever they come from. What one of the two lacks is left out.
    pub fn of(
        figures: &[Figure],
        before: impl Fn(Figure) -> Option<f64>,
        after: impl Fn(Figure) -> Option<f64>,
    ) -> Self {
        let change = |&figure: &Figure| {
            let (before, after) = (before(figure)?, after(figure)?);
            Some(Change { figure, before, after, interval: None })
        };
        let changes = figures.iter().filter_map(change).collect();
        Self { changes, doubts: Vec::new(), is_judged: true }
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

    /// Compares two runs of which every request is known, and so how much of each change is chance.
    pub fn of_runs(before: &ScoredRun<'_>, after: &ScoredRun<'_>, figures: &[Figure]) -> Self {
        let mut comparison =
            Self::of(figures, |of| of.read(&before.metrics), |of| of.read(&after.metrics));
        let changes = || comparison.changes.iter().map(|change| change.figure);
        let whole: Vec<Figure> = changes().filter(|figure| figure.of == Part::Run).collect();
        let sides = [before, after].map(|run| Units::of(&run.scores, &run.metrics, &whole));
        let intervals = Bootstrap::of(&sides).intervals();
        for (figure, interval) in whole.iter().zip(intervals) {
            let of = |change: &&mut Change| change.figure == *figure;
            if let Some(change) = comparison.changes.iter_mut().find(of) {
                change.interval = interval;
            }
        }
        comparison
    }

    /// The change of a number, if both runs have it.
    pub fn change_of(&self, figure: Figure) -> Option<&Change> {
        self.changes.iter().find(|change| change.figure == figure)
    }

    /// The conditions that hold, and those that nobody can check.
    pub fn broken<'a>(&'a self, conditions: &'a [Condition]) -> impl Iterator<Item = Broken<'a>> {
        conditions.iter().filter_map(|condition| condition.broken_by(self))
    }
}
