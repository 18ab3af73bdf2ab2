//! Estimates the largest load that meets an objective, from the evidence of several loads.

use std::fmt;

use serde::Serialize;
use servemark_statistics::{Crossing, Margin};

use super::{BacklogTrend, Judgement};
use crate::Statistic;
use crate::objective::{Goal, Objective};

/// Evidence that one load gives on objectives.
#[derive(Clone, Copy, Debug)]
pub struct LoadEvidence<'a> {
    /// The load, above zero.
    pub load: f64,
    /// Judgement on each objective.
    pub judgements: &'a [Judgement],
    /// Trend of a backlog under the load, if there was one.
    pub growth: Option<BacklogTrend>,
}

/// Estimate of the largest load that meets an objective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Capacity {
    /// The estimate; absent if all tried loads are on one side of it.
    pub value: Option<f64>,
    /// Lower end of the interval; absent if the capacity may be below all tried loads.
    pub low: Option<f64>,
    /// Upper end of the interval; absent if the capacity may be above all tried loads.
    pub high: Option<f64>,
    /// Confidence of the interval, from 0 to 1.
    pub confidence: f64,
    /// The objective that is missed first.
    pub objective: Objective,
    /// Whether loads miss the objective only because a backlog grows: it is met at all of them, but
    /// would be missed sooner or later.
    pub by_backlog: bool,
}

impl Capacity {
    /// Estimates the largest load that meets all objectives, from judgements whose bounds are each
    /// wrong with a probability of at most `1 - bound`. The interval is that of the objective that
    /// is missed first. Absent if no load shows its distance from a limit.
    pub fn of(
        loads: &[LoadEvidence<'_>],
        objectives: &[Objective],
        bound: f64,
        confidence: f64,
    ) -> Option<Self> {
        let each = objectives.iter().filter_map(|objective| {
            let margins: Vec<Margin> =
                loads.iter().filter_map(|load| load.margin(objective, bound)).collect();
            let found = Crossing::of(&margins, straightened(objective), confidence)?;
            let Crossing { value, low, high } = found;
            let is_missed = |load: &LoadEvidence<'_>| load.misses(objective);
            let by_backlog =
                !loads.iter().any(is_missed) && loads.iter().any(|load| load.growth.is_some());
            Some(Self { value, low, high, confidence, objective: *objective, by_backlog })
        });
        // An objective that is missed at no load ranks last.
        let rank = |found: &Self| {
            let ends = [found.value, found.high, found.low];
            ends.map(|end| end.unwrap_or(f64::INFINITY))
        };
        each.min_by(|one, other| {
            rank(one).partial_cmp(&rank(other)).unwrap_or(std::cmp::Ordering::Equal)
        })
    }

    /// Returns the estimate with each open end of its interval closed by a load with a verdict: the
    /// largest that meets all objectives, and the smallest that misses one. A load can have a
    /// verdict although its distance from the limit is hardly known.
    #[must_use]
    pub fn closed_by(self, holds: Option<f64>, fails: Option<f64>) -> Self {
        let is_below = |end: f64| self.high.is_none_or(|high| end <= high);
        let is_above = |end: f64| self.low.is_none_or(|low| low <= end);
        Self {
            low: self.low.or(holds.filter(|end| is_below(*end))),
            high: self.high.or(fails.filter(|end| is_above(*end))),
            ..self
        }
    }
}

impl LoadEvidence<'_> {
    fn judgement(&self, objective: &Objective) -> Option<&Judgement> {
        self.judgements.iter().find(|known| known.objective == *objective)
    }

    /// Returns whether the value of the load itself misses an objective.
    fn misses(&self, objective: &Objective) -> bool {
        let value = self.judgement(objective).and_then(|judgement| judgement.value);
        value.is_some_and(|value| !objective.is_met_by(value))
    }

    /// Returns the distance of the load from the limit of an objective, above zero if the load
    /// misses it.
    fn margin(&self, objective: &Objective, bound: f64) -> Option<Margin> {
        let judgement = self.judgement(objective)?;
        let distance = Distance::of(objective, judgement, bound)?;
        let (value, error) = match self.growth {
            // A growing backlog misses every limit sooner or later.
            Some(_) => (distance.value.max(GROWING), distance.value.max(GROWING) / SURE),
            None => (distance.value, distance.error?.max(LEAST_ERROR)),
        };
        Some(Margin { at: self.load, value, error })
    }
}

/// Distance of what a load showed from a limit, above zero if it misses the limit.
#[derive(Clone, Copy, Debug)]
struct Distance {
    value: f64,
    /// Standard error of the distance, if it is known.
    error: Option<f64>,
}

impl Distance {
    fn of(objective: &Objective, judgement: &Judgement, bound: f64) -> Option<Self> {
        let value = judgement.value?;
        let variance = relative_variance(judgement, value, bound);
        if let (Goal::Latency { limit_ms, .. }, Some(variance)) = (objective.goal, variance) {
            return Some(Self::of_latency(limit_ms / value, variance));
        }
        let value = distance(objective, value);
        Some(Self { value, error: error(judgement, value, bound) })
    }

    /// Returns one minus the limit divided by the latency, from their ratio in the sample and the
    /// relative variance of the latency. The inverse of an estimate is too large on average, by a
    /// factor of one plus that variance.
    fn of_latency(ratio: f64, variance: f64) -> Self {
        let inverse = (ratio / (1.0 + variance.min(MOST_VARIANCE))).min(1.0 + FARTHEST);
        Self { value: 1.0 - inverse, error: Some(DOUBT * inverse * variance.sqrt()) }
    }
}

/// Returns the variance of a latency divided by its square, from the effective number of requests, for
/// waits that are exponentially distributed as those of a queue near its capacity are, or from its bounds
/// if they are narrower. Absent for objectives that are not about waits.
fn relative_variance(judgement: &Judgement, value: f64, bound: f64) -> Option<f64> {
    let Judgement { objective, low, high, effective, .. } = judgement;
    let Goal::Latency { statistic, limit_ms, .. } = objective.goal else { return None };
    let of_one = match (statistic, objective.share()) {
        (Statistic::Mean, _) => 1.0,
        (_, Some(share)) if share < 1.0 => share / (1.0 - share) / (1.0 - share).ln().powi(2),
        _ => return None,
    };
    // A run that has no upper bound can still show that the limit is missed.
    let half = if high.is_infinite() && *low > limit_ms { value - low } else { (high - low) / 2.0 };
    let by_bounds = (Margin::error_of(half, bound) / value).powi(2);
    Some((of_one / effective.max(1.0)).min(by_bounds))
}

/// Returns the distance of a value from the limit, above zero if the value misses it.
///
/// For a latency it is one minus the limit divided by the latency: the inverse of a wait in a queue
/// is nearly linear in the load, up to the load at which the queue grows without end.
fn distance(objective: &Objective, value: f64) -> f64 {
    match objective.goal {
        Goal::Latency { limit_ms, .. } => (1.0 - limit_ms / value).max(-FARTHEST),
        Goal::Success { share } | Goal::Goodput { share } => share - value,
    }
}

/// Returns the function after which a distance from the limit is nearly linear in the load. For a
/// latency the result is the logarithm of the latency divided by the limit: percentiles of a batching
/// engine grow exponentially with the load. A queue's grow as an inverse does, which the logarithm
/// follows closely between loads that are near each other.
fn straightened(objective: &Objective) -> fn(f64) -> f64 {
    match objective.goal {
        Goal::Latency { .. } => |distance| -(-distance).ln_1p(),
        Goal::Success { .. } | Goal::Goodput { .. } => |distance| distance,
    }
}

/// Returns the standard error of a distance from the bound on the limit's side, or from the other
/// bound if that one is not known.
fn error(judgement: &Judgement, value: f64, bound: f64) -> Option<f64> {
    let Judgement { objective, low, high, .. } = judgement;
    let ends = [*low, *high].map(|end| {
        let is_known = end.is_finite() && (end > 0.0 || objective.is_of_share());
        is_known.then(|| (distance(objective, end) - value).abs())
    });
    // A share misses its limit if it is too low, a latency if it is too high.
    let is_limit_at_high = (value < 0.0) != objective.is_of_share();
    let [far, near] = if is_limit_at_high { ends } else { [ends[1], ends[0]] };
    Some(Margin::error_of(near.or(far)?, bound))
}

/// Displays the estimate as `3.18 (95 % between 3.12 and 3.3), where ttft:p99<=2000ms is missed
/// first`, or `where a backlog begins to grow`.
impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_bounded = self.low.is_some() && self.high.is_some();
        match self.value {
            Some(value) => write!(f, "{}", rounded(value))?,
            None if is_bounded => f.write_str("not known closely")?,
            None => f.write_str("outside of what was tried")?,
        }
        write!(f, " ({} % ", self.confidence * 100.0)?;
        match (self.low.map(rounded), self.high.map(rounded)) {
            (Some(low), Some(high)) => write!(f, "between {low} and {high}")?,
            (Some(low), None) => write!(f, "at least {low}")?,
            (None, Some(high)) => write!(f, "at most {high}")?,
            (None, None) => f.write_str("anywhere")?,
        }
        if self.by_backlog {
            return f.write_str("), where a backlog begins to grow");
        }
        write!(f, "), where {} is missed first", self.objective)
    }
}

/// Rounds a number to four significant digits.
fn rounded(number: f64) -> f64 {
    let scale = 10f64.powi(3 - number.log10().floor() as i32);
    (number * scale).round() / scale
}

/// Largest distance below a limit. All latencies of at most a tenth of their limit count as equally
/// far from it.
const FARTHEST: f64 = 9.0;
/// Distance of a load under which a backlog grows although the limit is not reached yet.
const GROWING: f64 = 0.1;
/// Number of standard errors by which a growing backlog is beyond the limit.
const SURE: f64 = 4.0;
/// Factor on the standard error of a latency. A run near the limit shows few slow phases, and its effective
/// number of requests is an estimate from the same few.
const DOUBT: f64 = 2.0;
/// Largest relative variance of a latency for which its inverse is corrected. Larger ones are hardly known.
const MOST_VARIANCE: f64 = 0.5;
/// Least standard error of a distance.
const LEAST_ERROR: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SloVerdict, UndecidedReason};

    fn judgement(text: &str, value: f64, low: f64, high: f64) -> Judgement {
        Judgement {
            objective: text.parse().unwrap(),
            verdict: SloVerdict::Undecided,
            value: Some(value),
            low,
            high,
            samples: 100,
            effective: 100.0,
            doubt: None::<UndecidedReason>,
        }
    }

    fn capacity(loads: &[(f64, [Judgement; 2])]) -> Capacity {
        let loads: Vec<LoadEvidence<'_>> = loads
            .iter()
            .map(|(load, judgements)| LoadEvidence { load: *load, judgements, growth: None })
            .collect();
        let objectives = [loads[0].judgements[0].objective, loads[0].judgements[1].objective];
        Capacity::of(&loads, &objectives, 0.95, 0.95).unwrap()
    }

    #[test]
    fn the_objective_that_is_missed_first_decides() {
        let at = |load: f64, ms: f64, share: f64| {
            let latency = judgement("ttft:p99<2s", ms, ms * 0.95, ms * 1.05);
            (load, [latency, judgement("success>=90%", share, share - 0.02, share + 0.02)])
        };
        let loads = [at(1.0, 500.0, 1.0), at(2.0, 1000.0, 0.99), at(4.0, 4000.0, 0.95)];
        let found = capacity(&loads);
        // The p99 counts as a thousandth larger than that of the sample.
        assert!((found.value.unwrap() - 3.0).abs() < 5e-3, "{found}");
        assert_eq!((found.low.map(rounded), found.high.map(rounded)), (Some(2.0), Some(4.0)));
        let message = "2.999 (95 % between 2 and 4), where ttft:p99<2000ms is missed first";
        assert_eq!(found.to_string(), message);
        let loads = [at(1.0, 500.0, 1.0), at(2.0, 1000.0, 0.8), at(4.0, 4000.0, 0.5)];
        assert_eq!(capacity(&loads).objective.to_string(), "success>=90%");
    }

    /// Returns the capacity by a load of 48 that holds and one of 52 with these figures, which misses
    /// a median of 125 ms.
    fn between_48_and_52(ms: f64, low: f64, high: f64, effective: f64) -> Capacity {
        let at = |ms, low, high, effective| Judgement {
            effective,
            ..judgement("e2el:median<125ms", ms, low, high)
        };
        let judgements = [at(98.60, 97.35, 99.97, 100.0), at(ms, low, high, effective)];
        let loads = [48.0, 52.0].iter().zip(&judgements);
        let loads: Vec<LoadEvidence<'_>> = loads
            .map(|(load, judgement)| LoadEvidence {
                load: *load,
                judgements: std::slice::from_ref(judgement),
                growth: None,
            })
            .collect();
        Capacity::of(&loads, &[judgements[0].objective], 0.95, 0.95).unwrap()
    }

    #[test]
    fn a_lower_bound_far_beyond_the_limit_bounds_the_capacity_without_an_upper_one() {
        let found = between_48_and_52(142.81, 140.41, f64::INFINITY, 1.0);
        assert_eq!((found.low, found.high), (Some(48.0), Some(52.0)), "{found}");
    }

    #[test]
    fn a_load_that_fails_closes_an_interval_that_its_distance_leaves_open() {
        let hardly_known = [
            (142.81, 126.0, f64::INFINITY, 1.0),
            (142.81, 140.41, 300.0, 1.0),
            (142.81, 126.0, 160.0, 100.0),
        ];
        for (ms, low, high, effective) in hardly_known {
            let open = between_48_and_52(ms, low, high, effective);
            assert_eq!((open.low, open.high), (Some(48.0), None), "{open}");
            let closed = open.closed_by(Some(48.0), Some(52.0));
            assert_eq!((closed.low, closed.high), (Some(48.0), Some(52.0)), "{closed}");
        }
    }

    #[test]
    fn a_backlog_that_grows_is_beyond_the_capacity() {
        let short = judgement("ttft:p99<2s", 100.0, 90.0, 110.0);
        let growth = BacklogTrend { of: crate::Latency::ResponseTtft, share: 0.5 };
        let loads = [(1.0, None), (2.0, Some(growth))].map(|(load, growth)| LoadEvidence {
            load,
            judgements: std::slice::from_ref(&short),
            growth,
        });
        let found = Capacity::of(&loads, &[short.objective], 0.95, 0.95).unwrap();
        assert_eq!((found.low.map(rounded), found.high.map(rounded)), (Some(1.0), Some(2.0)));
        assert!(found.to_string().ends_with("), where a backlog begins to grow"), "{found}");
        let missed = judgement("ttft:p99<50ms", 100.0, 90.0, 110.0);
        let loads =
            loads.map(|load| LoadEvidence { judgements: std::slice::from_ref(&missed), ..load });
        let found = Capacity::of(&loads, &[missed.objective], 0.95, 0.95).unwrap();
        assert!(found.to_string().ends_with("), where ttft:p99<50ms is missed first"), "{found}");
    }
}
