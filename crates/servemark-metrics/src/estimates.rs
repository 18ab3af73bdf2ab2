//! Estimates of the process that a run sampled: each figure with its confidence interval.

use serde::Serialize;
use serde::ser::SerializeMap;
use servemark_statistics::{Bounds, Estimate, Needed, Observations, Reason, UnmetWaits};

use crate::policy::MetricPolicy;
use crate::{RequestScore, Summary};

/// A figure of a run with the confidence interval of the process that the run sampled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Estimated {
    /// Value in the run itself; absent if it is not finite.
    pub value: Option<f64>,
    /// Lower end of the interval; absent if the run does not suffice for one.
    pub low: Option<f64>,
    /// Upper end of the interval; absent if the run does not suffice for one.
    pub high: Option<f64>,
    /// Confidence of the interval, from 0 to 1.
    pub confidence: f64,
    /// Number of values in the run.
    pub samples: usize,
    /// Effective sample size: the number of independent values that carry as much information.
    pub effective: f64,
    /// Whether the run does not suffice for an interval.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub too_short: bool,
    /// Factor by which the run should be longer, as far as the run shows; absent if there is an
    /// interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times_longer: Option<f64>,
    /// Why the run does not suffice for an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    #[serde(skip)]
    estimate: Estimate,
}

impl Estimated {
    pub(crate) fn of(estimate: Estimate, confidence: f64) -> Self {
        let known = estimate.bounds.interval();
        let (times_longer, reason) = match estimate.bounds {
            Bounds::Known { .. } => (None, None),
            Bounds::TooShort { times, reason } => (Some(times), Some(reason)),
        };
        Self {
            value: Some(estimate.value).filter(|value| value.is_finite()),
            low: known.map(|(low, _)| low),
            high: known.map(|(_, high)| high),
            confidence,
            samples: estimate.samples,
            effective: estimate.effective,
            too_short: known.is_none(),
            times_longer,
            reason,
            estimate,
        }
    }

    /// Returns the distance from the value to the farther end of the interval; absent without an
    /// interval.
    pub fn reach(&self) -> Option<f64> {
        self.estimate.reach()
    }

    /// Returns what a run needs so that no end of the interval is farther than `half_width` from
    /// the value, in the unit of the value; absent if no number of values would suffice.
    pub fn needed(&self, half_width: f64) -> Option<Needed> {
        self.estimate.needed(half_width, self.confidence)
    }

    /// Returns half the width of the interval, if there is one.
    pub fn half_width(&self) -> Option<f64> {
        Some((self.high? - self.low?) / 2.0)
    }
}

/// Estimates of one latency, in milliseconds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimates {
    /// Number of requests that gave values.
    pub requests: usize,
    /// Estimate of the mean.
    pub mean: Estimated,
    /// Estimates of the percentiles, each with its rank in percent.
    pub percentiles: Vec<(f64, Estimated)>,
}

impl Estimates {
    /// Estimates a sample of seconds in the order of time; absent for an empty sample or without a
    /// confidence in the policy.
    pub(crate) fn of(sample_s: &Observations, policy: &MetricPolicy) -> Option<Self> {
        let confidence = policy.confidence.filter(|_| sample_s.clusters() > 0)?;
        let estimated = |estimate: Estimate| Estimated::of(estimate.scaled(1e3), confidence);
        let mut percents = policy.percentiles.clone();
        percents.push(50.0);
        servemark_statistics::sort(&mut percents);
        percents.dedup();
        percents.retain(|percent| *percent > 0.0 && *percent < 100.0);
        let shares: Vec<f64> = percents.iter().map(|percent| percent / 100.0).collect();
        let estimates = sample_s.percentiles(&shares, confidence);
        Some(Self {
            requests: sample_s.clusters(),
            mean: estimated(sample_s.mean(confidence)),
            percentiles: percents.into_iter().zip(estimates.into_iter().map(estimated)).collect(),
        })
    }

    /// Returns the estimate of a percentile, if the policy asks for it or it is the median.
    pub fn percentile(&self, wanted: f64) -> Option<&Estimated> {
        let found = self.percentiles.iter().find(|(percent, _)| percent.total_cmp(&wanted).is_eq());
        found.map(|(_, estimated)| estimated)
    }
}

/// Serialises the estimates as `{"mean": …, "p50": …, "p99": …}`.
impl Serialize for Estimates {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.percentiles.len() + 1))?;
        map.serialize_entry("mean", &self.mean)?;
        for (percent, estimated) in &self.percentiles {
            map.serialize_entry(&format!("p{percent}"), estimated)?;
        }
        map.end()
    }
}

/// Returns scores in the order in which their requests were sent.
pub(crate) fn in_time<'a, 's>(
    scores: impl Iterator<Item = &'a RequestScore<'s>>,
) -> Vec<&'a RequestScore<'s>>
where
    's: 'a,
{
    let mut scores: Vec<_> = scores.collect();
    scores.sort_by(|one, other| one.start_s.total_cmp(&other.start_s));
    scores
}

/// Adds estimates to the summary of a latency, from its sample in the order of time. `unmet_waits` are
/// waits in seconds that no request met; none for a latency without waits.
pub(crate) fn estimated(
    summary: Summary,
    policy: &MetricPolicy,
    unmet_waits: UnmetWaits,
    sample: impl FnOnce() -> Observations,
) -> Summary {
    if policy.confidence.is_none() || summary.samples > policy.sample_budget.values() {
        return summary;
    }
    let sample = sample().with_unmet_waits(unmet_waits);
    Summary { estimates: Estimates::of(&sample, policy), ..summary }
}
