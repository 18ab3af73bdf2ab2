//! Judges one objective.

use std::fmt;

use serde::Serialize;
use servemark_statistics::{Bounds, Estimate, Observations, Reason, fewest_draws, share};

use super::BacklogTrend;
use crate::Statistic;
use crate::objective::{Goal, Objective};
use crate::statistics;

/// Whether an objective is met, as far as the evidence shows. The enum is closed, ordered from the
/// best to the worst.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SloVerdict {
    /// The objective is met: both bounds meet the limit.
    Holds,
    /// The limit lies between the bounds.
    Undecided,
    /// The objective is missed: no bound meets the limit.
    Fails,
}

/// Judgement on one objective. Latencies are in milliseconds, shares from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Judgement {
    /// The judged objective.
    pub objective: Objective,
    /// Whether the objective is met.
    pub verdict: SloVerdict,
    /// Value in the sample itself; absent if it is not finite.
    pub value: Option<f64>,
    /// Lower bound on the server's own value, with the confidence that was asked for.
    pub low: f64,
    /// Upper bound on the server's own value; infinite, and `null` in JSON, if the sample is too
    /// small for one.
    pub high: f64,
    /// Number of values in the sample.
    pub samples: usize,
    /// Effective sample size: the number of independent values that carry as much information.
    pub effective: f64,
    /// Why the value is not known better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<UndecidedReason>,
}

impl Judgement {
    /// Judges a sample of seconds by the ends of its interval, which is wrong with a probability of at
    /// most `error`. A sample of ones and zeros, for an objective about a share, is judged by exact
    /// bounds, each of which is wrong with that probability.
    pub(super) fn of(objective: Objective, sample: &Observations, error: f64) -> Self {
        let alpha = error / 2.0;
        let samples = sample.values().len();
        if samples == 0 {
            return Self::of_nothing(objective);
        }
        let estimate = match (objective.goal, objective.share()) {
            (Goal::Latency { statistic: Statistic::Mean, .. }, _) | (_, None) => {
                let mean =
                    conservative_estimate(sample, alpha, |confidence| sample.mean(confidence));
                without_slow_phases(mean, sample).scaled(1e3)
            }
            (Goal::Latency { .. }, Some(share)) if share >= 1.0 => largest(sample).scaled(1e3),
            (Goal::Latency { .. }, Some(share)) => {
                conservative_estimate(sample, alpha, |confidence| {
                    sample.percentile(share, confidence)
                })
                .scaled(1e3)
            }
            (_, Some(wanted)) if wanted >= 1.0 => all_of(sample),
            (_, Some(_)) => {
                let holds: Vec<bool> = sample.values().iter().map(|value| *value > 0.0).collect();
                share(&holds, 1.0 - 2.0 * error)
            }
        };
        let estimate = match estimate.bounds {
            Bounds::Known { .. } => estimate,
            Bounds::TooShort { .. } => far_from_limit(objective, sample, alpha, &estimate)
                .map_or(estimate, |bounds| Estimate { bounds, ..estimate }),
        };
        let (low, high) = match (estimate.bounds, objective.goal) {
            (Bounds::Known { low, high }, _) => (low, high),
            (Bounds::TooShort { .. }, Goal::Latency { statistic: Statistic::Mean, .. }) => {
                (estimate.at_least, at_most(None, sample) * 1e3 + estimate.unseen)
            }
            (Bounds::TooShort { .. }, Goal::Latency { .. }) => (estimate.at_least, f64::INFINITY),
            (Bounds::TooShort { .. }, _) => (0.0, 1.0),
        };
        Self {
            objective,
            verdict: verdict(&objective, low, high),
            value: Some(estimate.value).filter(|value| value.is_finite()),
            low: low.max(0.0),
            high,
            samples,
            effective: estimate.effective,
            doubt: Self::too_few(&objective, sample, error, low)
                .or_else(|| UndecidedReason::of(estimate.bounds, sample, objective.share())),
        }
    }

    /// Returns how many requests show the share of an objective if none fails, if this run is too
    /// short to do so. Each of `n` requests would succeed with a probability of `share` or less, and
    /// all of them with `share ^ n`, which must be at most `error`.
    fn too_few(
        objective: &Objective,
        sample: &Observations,
        error: f64,
        low: f64,
    ) -> Option<UndecidedReason> {
        let share = objective.share().filter(|share| objective.is_of_share() && *share < 1.0)?;
        let is_flawless = sample.values().iter().all(|value| *value > 0.0);
        let required = (error.ln() / share.ln()).ceil();
        let is_few = is_flawless && low < share && required > sample.values().len() as f64;
        is_few.then_some(UndecidedReason::TooFew { required })
    }

    fn of_nothing(objective: Objective) -> Self {
        let (verdict, doubt) = (SloVerdict::Undecided, Some(UndecidedReason::NoValues));
        let (low, high) = (0.0, f64::INFINITY);
        Self { objective, verdict, value: None, low, high, samples: 0, effective: 0.0, doubt }
    }
}

/// Returns an estimate each bound of which is wrong with a probability of at most `alpha`.
///
/// Where values depend on each other, the effective sample size is an estimate too, and a run
/// without a slow phase overestimates it. The upper bound is then one that is wrong with a
/// probability of at most [`MOST_DEPENDENT`].
fn conservative_estimate(
    sample: &Observations,
    alpha: f64,
    estimate: impl Fn(f64) -> Estimate,
) -> Estimate {
    let plain = estimate(1.0 - 2.0 * alpha);
    match plain.bounds {
        Bounds::Known { low, .. } if alpha > MOST_DEPENDENT && is_dependent(&plain, sample) => {
            let strict = estimate(1.0 - 2.0 * MOST_DEPENDENT).bounds.interval();
            let high = strict.map_or(f64::INFINITY, |(_, high)| high);
            Estimate { bounds: Bounds::Known { low, high }, ..plain }
        }
        _ => plain,
    }
}

/// Raises the upper bound of a mean of dependent values, so that it leaves room for slow phases that the
/// run did not meet: by a part of the mean that shrinks with the length of the run.
fn without_slow_phases(mean: Estimate, sample: &Observations) -> Estimate {
    match mean.bounds {
        Bounds::Known { low, high } if is_dependent(&mean, sample) => {
            let unseen = QUIET / (sample.clusters() as f64).sqrt();
            let high = high.max(mean.value * (1.0 + unseen));
            Estimate { bounds: Bounds::Known { low, high }, ..mean }
        }
        _ => mean,
    }
}

/// Margin above the mean for slow phases that a run of n requests may have missed, as a share of
/// the mean times the square root of n. Measured in simulated engines (`docs/methodology.md`).
const QUIET: f64 = 12.0;

/// Largest probability with which an upper bound of dependent values may be wrong.
const MOST_DEPENDENT: f64 = 0.01;

/// Returns whether the effective sample size is smaller than the number of requests.
fn is_dependent(estimate: &Estimate, sample: &Observations) -> bool {
    estimate.effective < 0.999 * sample.clusters() as f64
}

/// Returns bounds in milliseconds for a sample that is too short for an interval, but so far from
/// the limit that it shows on which side of it the server is.
fn far_from_limit(
    objective: Objective,
    sample: &Observations,
    alpha: f64,
    estimate: &Estimate,
) -> Option<Bounds> {
    let Goal::Latency { limit_ms, .. } = objective.goal else { return None };
    let share = objective.share().filter(|share| *share < 1.0)?;
    if sample.clusters() < fewest_draws(share, alpha).max(FEWEST_REQUESTS) {
        return None;
    }
    let at_most = at_most(Some(share), sample) * 1e3 + estimate.unseen;
    if at_most < limit_ms {
        return Some(Bounds::Known { low: 0.0, high: at_most });
    }
    let values = sample.values().iter().copied();
    let low = values.clone().fold(f64::INFINITY, f64::min) * 1e3;
    let high = values.fold(f64::NEG_INFINITY, f64::max) * 1e3;
    let middle = f64::midpoint(sample.percentile(0.5, 0.5).value * 1e3, limit_ms);
    let is_below = high < middle && !is_dependent(estimate, sample);
    let is_above = middle < low;
    if is_below || is_above {
        let (low, high) = if is_below { (0.0, high) } else { (low, f64::INFINITY) };
        return Some(Bounds::Known { low, high });
    }
    // Values that depend on each other and hardly differ, such as those of a server with constant
    // times on a machine with some noise. Those of a queue that is filling differ more.
    let at = |share: f64| sample.percentile(share, 0.5).value * 1e3;
    let (low, high) = (at(0.1 * share), at(0.9 + 0.1 * share));
    let is_constant = high - low < CONSTANT * high;
    let is_far = limit_ms - high > FAR * (high - low);
    (is_constant && is_far).then_some(Bounds::Known { low: 0.0, high })
}

/// Distance to the limit from which on the differences between values do not matter, as a multiple of
/// these.
const FAR: f64 = 10.0;

/// Part of a value by which others may differ from it for all of them to count as constant.
const CONSTANT: f64 = 0.1;

/// Returns an upper bound on the server's percentile, or on its mean without a `share`, for a
/// sample that is too short for an interval. The bounds are multiples of values of the sample, or of
/// the excess of these over its smallest value, which is all that waits can add to. In
/// simulated queues and engines that start empty, at up to 95 % of their capacity, at most one run
/// in twenty exceeds them (`docs/methodology.md`).
fn at_most(share: Option<f64>, sample: &Observations) -> f64 {
    let requests = sample.clusters();
    let values = || sample.values().iter().copied();
    let largest = values().fold(f64::NEG_INFINITY, f64::max);
    let mean = statistics::mean(sample.values()).unwrap_or(f64::INFINITY);
    let (times, of) = match share {
        Some(_) if requests >= 1000 => (10.0, largest),
        None if requests >= 20_000 => (2.0, mean),
        None if requests >= 5000 => (3.0, mean),
        None if requests >= 400 => (5.0, largest),
        _ if requests >= FEWEST_REQUESTS => (300.0, largest),
        _ => return f64::INFINITY,
    };
    let least = values().fold(f64::INFINITY, f64::min);
    let by_excess = (least + EXCESS * times * (of - least)).max(CLEAR * of);
    // An infinite value leaves no excess.
    if by_excess.is_nan() { times * of } else { by_excess.min(times * of) }
}

/// Factor between the multiples of an excess and those of a whole value.
const EXCESS: f64 = 2.0;
/// Least such bound, as a multiple of a value. Values that hardly differ show nothing of rare waits.
const CLEAR: f64 = 1.4;

/// Least number of requests for which bounds are given.
const FEWEST_REQUESTS: usize = 20;

/// Returns the largest value of a sample as an exact estimate: an objective on the maximum is about
/// the sample itself.
fn largest(sample: &Observations) -> Estimate {
    let largest = sample.values().iter().copied().fold(f64::NEG_INFINITY, f64::max);
    exact_estimate(largest, sample)
}

/// Returns the share in the sample as an exact estimate. No sample can show that no request ever
/// fails, so an objective of 100 % only asks whether one did.
fn all_of(sample: &Observations) -> Estimate {
    exact_estimate(statistics::mean(sample.values()).unwrap_or_default(), sample)
}

fn exact_estimate(value: f64, sample: &Observations) -> Estimate {
    let samples = sample.values().len();
    let bounds = Bounds::Known { low: value, high: value };
    let effective = samples as f64;
    Estimate { value, bounds, at_least: value, error: None, unseen: 0.0, samples, effective }
}

/// Returns `Holds` if the worst bound meets the limit and `Fails` if not even the best bound does.
fn verdict(objective: &Objective, low: f64, high: f64) -> SloVerdict {
    let (best, worst) = match objective.goal {
        Goal::Latency { .. } => (low, high),
        Goal::Success { .. } | Goal::Goodput { .. } => (high, low),
    };
    match (objective.is_met_by(worst), objective.is_met_by(best)) {
        (true, _) => SloVerdict::Holds,
        (false, true) => SloVerdict::Undecided,
        (false, false) => SloVerdict::Fails,
    }
}

/// Reason why an objective is undecided, or why its bounds are missing or wide.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum UndecidedReason {
    /// The audit found that the client, not the server, limited the run.
    ClientLimited,
    /// More requests failed than the percentile leaves room for, so it does not exist.
    Failures {
        /// Share of the requests that failed, from 0 to 1.
        share: f64,
        /// The percentile that was asked for, in percent.
        percentile: f64,
    },
    /// A backlog grew.
    Grows {
        /// The latency that grew, and by how much.
        growth: BacklogTrend,
    },
    /// Less load was offered than planned.
    LessLoad {
        /// Requests per second of the schedule.
        planned: f64,
        /// Requests per second that were sent.
        offered: f64,
    },
    /// No request has a value.
    NoValues,
    /// No request failed, and yet there are too few to show the share that was asked for.
    TooFew {
        /// Number of requests that show it if none of them fails.
        required: f64,
    },
    /// The run does not suffice for an interval.
    TooShort {
        /// Why the run does not suffice.
        reason: Reason,
        /// Factor by which the run should be longer, as far as the run shows.
        times: f64,
    },
}

impl UndecidedReason {
    fn of(bounds: Bounds, sample: &Observations, share: Option<f64>) -> Option<Self> {
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
            Self::TooFew { required } => {
                write!(f, "it takes at least {required:.0} requests, and none of them may fail")
            }
            Self::TooShort { reason, times } => {
                write!(f, "{reason}; the run should be about {times:.1} times longer")
            }
        }
    }
}

/// Displays the judgement as `ttft:p99<=2000ms holds: 1480.20 ms, between 1433.10 ms and 1530.70
/// ms`.
impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            SloVerdict::Fails => "fails",
            SloVerdict::Holds => "holds",
            SloVerdict::Undecided => "is undecided",
        };
        let Self { objective, value, low, high, .. } = self;
        let number = |value: f64| Number { value, objective };
        write!(f, "{objective} {verdict}: ")?;
        match value {
            Some(value) => write!(f, "{}", number(*value))?,
            None => f.write_str("no value")?,
        }
        write!(f, ", between {} and {}", number(*low), number(*high))?;
        self.doubt.map_or(Ok(()), |doubt| write!(f, "; {doubt}"))
    }
}

/// A value displayed in the unit of its objective.
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
