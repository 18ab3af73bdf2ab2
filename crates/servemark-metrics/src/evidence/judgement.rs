//! What can be said of one objective.

use std::fmt;

use serde::Serialize;

use super::bounds;
use super::column::Column;
use crate::Statistic;
use crate::objective::{Goal, Objective};
use crate::statistics::{self, by_rank, order, whole};

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
}

impl Judgement {
    pub(super) fn of(objective: Objective, column: &Column, alpha: f64) -> Self {
        let seen = match (objective.goal, objective.share()) {
            (Goal::Latency { statistic: Statistic::Mean, .. }, _) | (_, None) => {
                Seen::mean(column, alpha)
            }
            (Goal::Latency { .. }, Some(share)) => {
                Seen::percentile(objective, column, share, alpha)
            }
            (_, Some(wanted)) => Seen::share(column, wanted, alpha),
        };
        let Seen { value, low, high, effective } = seen.unwrap_or_default();
        let value = value.filter(|value| value.is_finite());
        let standing = standing(&objective, low, high);
        Self { objective, standing, value, low, high, samples: column.values().len(), effective }
    }
}

/// The end of the bounds that speaks for the objective must keep to its limit, or the other one not.
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

/// What is known of a number.
struct Seen {
    value: Option<f64>,
    low: f64,
    high: f64,
    effective: f64,
}

/// Nothing.
impl Default for Seen {
    fn default() -> Self {
        Self { value: None, low: 0.0, high: f64::INFINITY, effective: 0.0 }
    }
}

impl Seen {
    fn mean(column: &Column, alpha: f64) -> Option<Self> {
        let (mean, low, high) = bounds::mean(&column.batches(|value| value), alpha)?;
        let [mean, low, high] = [mean, low, high].map(|seconds| seconds * 1e3);
        let effective = column.requests() as f64;
        Some(Self { value: Some(mean), low: low.max(0.0), high, effective })
    }

    fn percentile(objective: Objective, column: &Column, share: f64, alpha: f64) -> Option<Self> {
        let samples = column.values().len();
        let effective = effective(&objective, column)?;
        let (low, high) = ranks(samples, effective, share, alpha);
        let read = |value: &mut dyn FnMut(usize) -> f64| Self {
            value: by_rank::percentile(samples, share * 100.0, &mut |rank| value(rank) * 1e3),
            low: low.map_or(0.0, |rank| value(rank - 1) * 1e3),
            high: high.map_or(f64::INFINITY, |rank| value(rank - 1) * 1e3),
            effective,
        };
        let mut places = Vec::new();
        read(&mut |place| {
            places.push(place);
            0.0
        });
        let ranked = order::select(&mut column.values().to_vec(), &order::in_order(places));
        Some(read(&mut |place| ranked.at(place)))
    }

    fn share(column: &Column, wanted: f64, alpha: f64) -> Option<Self> {
        let seen = statistics::mean(column.values())?;
        let effective = column.requests() as f64 / column.inflation(|value| value > 0.0);
        // That none ever fails no sample shows: of all of them what is asked is whether one did.
        let (low, high) = match wanted {
            wanted if wanted >= 1.0 => (seen, seen),
            _ => bounds::share(seen, effective, alpha),
        };
        Some(Self { value: Some(seen), low, high, effective })
    }
}

/// How many independent values a sample is worth. Latencies come in clusters: of one request's
/// tokens, and of requests that stood in one queue. How much those that miss the limit cluster
/// says by how much; and, where hardly any misses it, how those do that come near it.
fn effective(objective: &Objective, column: &Column) -> Option<f64> {
    let Goal::Latency { limit_ms, .. } = objective.goal else { return None };
    let values = column.values();
    let middle = order::select(&mut values.to_vec(), &[values.len().checked_sub(1)? / 2])
        .at((values.len() - 1) / 2);
    let near = f64::midpoint(middle, limit_ms / 1e3);
    let is_miss = |value: f64| !objective.is_met_by(value * 1e3);
    let inflation = column.inflation(is_miss).max(column.inflation(|value| value > near));
    let misses = values.iter().filter(|value| is_miss(**value)).count();
    let is_mixed = (1..values.len()).contains(&misses);
    let draws = if is_mixed { values.len() } else { column.requests() };
    Some(draws as f64 / inflation)
}

/// The bounds' ranks in a sample that is worth so many draws. The largest value of all is what it
/// is.
fn ranks(samples: usize, effective: f64, share: f64, alpha: f64) -> (Option<usize>, Option<usize>) {
    if share >= 1.0 {
        return (Some(samples), Some(samples));
    }
    let draws = whole(effective).max(1);
    let (low, high) = bounds::ranks(draws as u64, share, alpha);
    let stretch = samples as f64 / draws as f64;
    let low = low.map(|rank| whole((rank as f64 * stretch).floor()).clamp(1, samples));
    let high = high.map(|rank| whole((rank as f64 * stretch).ceil()).clamp(1, samples));
    (low, high)
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
        write!(f, ", between {} and {}", number(*low), number(*high))
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
