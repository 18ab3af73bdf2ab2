//! What can be said of one objective.

use std::fmt;

use serde::Serialize;
use servemark_statistics::{Bounds, Estimate, Reason, Sample, fewest_draws, share};

use super::Growth;
use crate::Statistic;
use crate::objective::{Goal, Objective};
use crate::statistics;

/// Whether an objective is kept to, as far as one can tell. Closed, from the best to the worst.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is: the limit lies beyond the bound.
    Holds,
    /// The limit lies between the bounds.
    Undecided,
    /// It is not.
    Fails,
}

/// What runs show of an objective. Latencies are in milliseconds, shares from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Judgement {
    /// The objective.
    pub objective: Objective,
    /// What is said of it.
    pub standing: Standing,
    /// What the sample itself shows; absent where that is no number.
    pub value: Option<f64>,
    /// The server's own is not below this, with the confidence that was asked for.
    pub low: f64,
    /// Nor above this; infinite, and `null` in JSON, where too few were seen to say.
    pub high: f64,
    /// How many values were seen.
    pub samples: usize,
    /// How many independent ones they are worth.
    pub effective: f64,
    /// Why it is not known better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<UndecidedReason>,
}

impl Judgement {
    /// Judges a sample of seconds, or of ones and zeros where the objective is about a share. Each
    /// bound is passed with a chance of at most `alpha`.
    pub(super) fn of(objective: Objective, sample: &Sample, alpha: f64) -> Self {
        let confidence = 1.0 - 2.0 * alpha;
        let samples = sample.values().len();
        if samples == 0 {
            return Self::of_nothing(objective);
        }
        let estimate = match (objective.goal, objective.share()) {
            (Goal::Latency { statistic: Statistic::Mean, .. }, _) | (_, None) => {
                sample.mean(confidence).scaled(1e3)
            }
            (Goal::Latency { .. }, Some(share)) if share >= 1.0 => largest(sample).scaled(1e3),
            (Goal::Latency { .. }, Some(share)) => sample.percentile(share, confidence).scaled(1e3),
            (_, Some(wanted)) if wanted >= 1.0 => all_of(sample),
            (_, Some(_)) => {
                let holds: Vec<bool> = sample.values().iter().map(|value| *value > 0.0).collect();
                share(&holds, confidence)
            }
        };
        let is_unknown = estimate.bounds.known().is_none();
        let far = far_from_limit(objective, sample, alpha).filter(|_| is_unknown);
        let estimate = far.map_or(estimate, |bounds| Estimate { bounds, ..estimate });
        let (low, high) = match (estimate.bounds, objective.goal) {
            (Bounds::Known { low, high }, _) => (low, high),
            (Bounds::TooShort { .. }, Goal::Latency { .. }) => (estimate.at_least, f64::INFINITY),
            (Bounds::TooShort { .. }, _) => (0.0, 1.0),
        };
        Self {
            objective,
            standing: standing(&objective, low, high),
            value: Some(estimate.value).filter(|value| value.is_finite()),
            low: low.max(0.0),
            high,
            samples,
            effective: estimate.effective,
            doubt: UndecidedReason::of(estimate.bounds, sample, objective.share()),
        }
    }

    fn of_nothing(objective: Objective) -> Self {
        let (standing, doubt) = (Standing::Undecided, Some(UndecidedReason::NoValues));
        let (low, high) = (0.0, f64::INFINITY);
        Self { objective, standing, value: None, low, high, samples: 0, effective: 0.0, doubt }
    }
}

/// The smallest and the largest value in milliseconds, where the whole sample keeps so far from the
/// limit of a percentile that its dependence in time does not matter: no value is nearer to the limit
/// than to the median, and there are as many requests as it takes to show a percentile.
fn far_from_limit(objective: Objective, sample: &Sample, alpha: f64) -> Option<Bounds> {
    let Goal::Latency { limit_ms, .. } = objective.goal else { return None };
    let share = objective.share().filter(|share| *share < 1.0)?;
    let values = sample.values();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min) * 1e3;
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max) * 1e3;
    let middle = f64::midpoint(sample.percentile(0.5, 0.5).value * 1e3, limit_ms);
    let is_enough = sample.clusters() >= fewest_draws(share, alpha).max(FEWEST_REQUESTS);
    (is_enough && (high < middle || middle < low)).then_some(Bounds::Known { low, high })
}

/// Of fewer requests than this nothing is said.
const FEWEST_REQUESTS: usize = 20;

/// The largest value of a sample is what it is.
fn largest(sample: &Sample) -> Estimate {
    let largest = sample.values().iter().copied().fold(f64::NEG_INFINITY, f64::max);
    exactly(largest, sample)
}

/// That none ever fails no sample shows: of all of them what is asked is whether one did.
fn all_of(sample: &Sample) -> Estimate {
    exactly(statistics::mean(sample.values()).unwrap_or_default(), sample)
}

fn exactly(value: f64, sample: &Sample) -> Estimate {
    let samples = sample.values().len();
    let bounds = Bounds::Known { low: value, high: value };
    Estimate { value, bounds, at_least: value, error: None, samples, effective: samples as f64 }
}

/// Holds if the worst bound meets the limit; fails if even the best bound does not.
fn standing(objective: &Objective, low: f64, high: f64) -> Standing {
    let (best, worst) = match objective.goal {
        Goal::Latency { .. } => (low, high),
        Goal::Success { .. } | Goal::Goodput { .. } => (high, low),
    };
    match (objective.is_met_by(worst), objective.is_met_by(best)) {
        (true, _) => Standing::Holds,
        (false, true) => Standing::Undecided,
        (false, false) => Standing::Fails,
    }
}

/// Why bounds are missing or wide.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[non_exhaustive]
pub enum UndecidedReason {
    /// The client was the limit, by its audit.
    ClientLimited,
    /// More requests failed than the percentile leaves room for, so it does not exist.
    Failures {
        /// Share of the requests that failed.
        share: f64,
        /// The percentile that is asked for.
        percentile: f64,
    },
    /// A backlog grew.
    Grows {
        /// What grew.
        growth: Growth,
    },
    /// Less load was offered than planned.
    LessLoad {
        /// Requests per second by the schedule.
        planned: f64,
        /// Requests per second that were sent.
        offered: f64,
    },
    /// No request showed a value.
    NoValues,
    /// The run cannot tell.
    TooShort {
        /// Why.
        reason: Reason,
        /// Number of times longer it should be, as far as it shows.
        times: f64,
    },
}

impl UndecidedReason {
    fn of(bounds: Bounds, sample: &Sample, share: Option<f64>) -> Option<Self> {
        let failed = sample.values().iter().filter(|value| value.is_infinite()).count();
        let failed = failed as f64 / sample.values().len() as f64;
        match (bounds, share) {
            (_, Some(share)) if failed > 1.0 - share => {
                // A hundredth of a percent is finer than any percentile that is asked for.
                let percentile = (share * 1e4).round() / 1e2;
                Some(Self::Failures { share: failed, percentile })
            }
            (Bounds::TooShort { reason, times }, _) => Some(Self::TooShort { reason, times }),
            (Bounds::Known { .. }, _) => None,
        }
    }
}

impl fmt::Display for UndecidedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClientLimited => f.write_str("not judged: the client was the limit"),
            Self::Grows { growth } => write!(f, "not held: a backlog grew; {growth}"),
            Self::LessLoad { planned, offered } => {
                write!(f, "not held: {offered:.1} requests/s were sent of {planned:.1} planned")
            }
            Self::Failures { share, percentile } => {
                let failed = share * 100.0;
                write!(f, "{failed:.1} % of the requests failed, so no p{percentile} exists")
            }
            Self::NoValues => f.write_str("no request showed a value"),
            Self::TooShort { reason, times } => {
                write!(f, "{reason}; the run should be about {times:.1} times longer")
            }
        }
    }
}

/// `ttft:p99<2000ms holds: 1480.2 ms, at most 1530.7 ms`
impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let standing = match self.standing {
            Standing::Fails => "fails",
            Standing::Holds => "holds",
            Standing::Undecided => "is undecided",
        };
        let Self { objective, value, low, high, .. } = self;
        let number = |value: f64| Number { value, objective };
        write!(f, "{objective} {standing}: ")?;
        match value {
            Some(value) => write!(f, "{}", number(*value))?,
            None => f.write_str("no value")?,
        }
        write!(f, ", between {} and {}", number(*low), number(*high))?;
        self.doubt.map_or(Ok(()), |doubt| write!(f, "; {doubt}"))
    }
}

/// A number in the unit of its objective.
struct Number<'a> {
    value: f64,
    objective: &'a Objective,
}

impl fmt::Display for Number<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.objective.goal {
            _ if self.value.is_infinite() => f.write_str("any"),
            Goal::Latency { .. } => write!(f, "{:.2} ms", self.value),
            Goal::Success { .. } | Goal::Goodput { .. } => write!(f, "{:.2} %", self.value * 100.0),
        }
    }
}
