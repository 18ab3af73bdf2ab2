//! Plans how much longer a run must be, or how many runs are needed, to know a figure as well as
//! the caller asks.

use std::fmt;

use serde::Serialize;
use servemark_statistics::Reason;

use crate::{Estimand, Metrics};

/// Requests and runs that are needed to know one figure of a run to a share of its value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Planning {
    /// Path of the figure in JSON, for example `ttft_ms.mean`.
    pub figure: String,
    /// Half width that is asked for, in percent of the value.
    pub asked_percent: f64,
    /// Wider side of this run's interval, in percent of the value; absent without an interval.
    pub half_width_percent: Option<f64>,
    /// Number of successful requests that a run needs; a lower bound if `is_rough`.
    pub requests: u64,
    /// Number of runs like this one that suffice instead, if runs differ only by chance; absent if
    /// this run does not show its variance.
    pub runs: Option<u64>,
    /// Whether the run is too short to show its variance, so that `requests` is a lower bound.
    pub is_rough: bool,
    /// Why the run is too short; absent if it is long enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    #[serde(skip)]
    estimand: Estimand,
    #[serde(skip)]
    done: u64,
}

impl Planning {
    /// Plans for each headline figure to be known to 2 % of its value.
    pub fn of(metrics: &Metrics) -> Vec<Self> {
        let of = |estimand| Self::of_figure(estimand, metrics, HALF_WIDTH);
        Estimand::HEADLINE.into_iter().filter_map(of).collect()
    }

    /// Plans for a figure to be known to a share of its value; absent if the run has no such
    /// figure, or no number of requests would suffice.
    pub fn of_figure(estimand: Estimand, metrics: &Metrics, half_width: f64) -> Option<Self> {
        let estimated = estimand.read(metrics)?;
        let value = estimated.value.filter(|value| *value > 0.0)?;
        let needed = estimated.needed(half_width * value)?;
        let done = metrics.requests.completed as u64;
        let half = estimated.reach();
        Some(Self {
            figure: estimand.key(),
            asked_percent: half_width * 100.0,
            half_width_percent: half.map(|half| half / value * 100.0),
            requests: rounded_up(needed.times * done as f64),
            runs: needed.samples,
            is_rough: needed.is_rough,
            reason: estimated.reason,
            estimand,
            done,
        })
    }

    /// Returns whether the run itself is long enough.
    pub fn is_enough(&self) -> bool {
        !self.is_rough && self.runs == Some(1)
    }
}

/// Displays the plan as `for +-2 % of the mean TTFT: 41,000 requests or 10 runs (this run: +-5.2 %
/// by 6,000)`.
impl fmt::Display for Planning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "for +-{} % of the {}: ", self.asked_percent, self.estimand)?;
        if self.is_enough() {
            f.write_str("this run is enough")?;
        } else {
            let at_least = if self.is_rough { "at least " } else { "" };
            write!(f, "{at_least}{} requests", Thousands(self.requests))?;
            if let Some(runs) = self.runs.filter(|_| !self.is_rough) {
                write!(f, " or {} runs", Thousands(runs))?;
            }
        }
        let done = Thousands(self.done);
        match (self.half_width_percent, self.reason) {
            (Some(half), _) => write!(f, " (this run: +-{half:.1} % by {done})"),
            (None, Some(reason)) => write!(f, " (this run of {done} is too short: {reason})"),
            (None, None) => Ok(()),
        }
    }
}

/// A number displayed with commas, for example `41,000`.
struct Thousands(u64);

impl fmt::Display for Thousands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// Rounds up to two digits; a forecast from one run is no better.
#[expect(clippy::cast_sign_loss, reason = "the number is a count")]
fn rounded_up(number: f64) -> u64 {
    let unit = 10_f64.powf((number.max(1.0).log10().floor() - 1.0).max(0.0));
    // The slack keeps a whole number of units from being rounded up by one.
    ((number / unit - 1e-9).ceil() * unit) as u64
}

/// Share of the value to which headline figures are planned.
const HALF_WIDTH: f64 = 0.02;

#[cfg(test)]
mod tests {
    use servemark_core::{Delta, Finish, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog};
    use servemark_core::{Sample, Sink, Stamp};
    use servemark_rng::NumpyRandom;

    use super::*;
    use crate::MetricPolicy;

    #[test]
    fn forecasts_have_two_digits() {
        for (number, rounded) in
            [(3.2, 4), (41.0, 41), (120.0, 120), (40_200.0, 41_000), (999.0, 1000)]
        {
            assert_eq!(rounded_up(number), rounded, "{number}");
        }
        assert_eq!([7, 999, 1000, 1_234_567].map(|n| Thousands(n).to_string()).join(" "), {
            "7 999 1,000 1,234,567"
        });
    }

    /// Returns a request that is sent after `at` milliseconds and whose only token comes `ttft`
    /// milliseconds later.
    fn record(index: usize, at: f64, ttft: f64) -> RequestRecord {
        let stamp = |ms: f64| Stamp::from_nanos(crate::statistics::whole(ms * 1e6) as u64);
        let sample = Sample::new("", 1, 1);
        let mut recorder = Recorder::new(index, Phase::Measure, &sample, stamp(at));
        recorder.record_sent(stamp(at));
        recorder.at(stamp(at + ttft)).delta(Delta::content("a"));
        recorder.finish(Ok(Finish::default()), stamp(at + ttft))
    }

    fn metrics(requests: usize, deviation: f64) -> Metrics {
        let mut random = NumpyRandom::seeded(1);
        let records = (0..requests)
            .map(|index| record(index, 10.0 * index as f64, 100.0 + random.normal(0.0, deviation)))
            .collect();
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        Metrics::score(&RunLog::new(header, records, None), &MetricPolicy::native())
    }

    #[test]
    fn a_run_says_how_many_requests_and_runs_a_figure_takes() {
        let noisy = Planning::of(&metrics(200, 20.0));
        let mean = &noisy[0];
        // The half width of the mean is about 1.97 x 20 / sqrt(200) = 2.8 %; 2 % needs twice as
        // many requests.
        assert_eq!(mean.figure, "ttft_ms.mean");
        assert!((280..=460).contains(&mean.requests), "{mean}");
        assert!(matches!(mean.runs, Some(3..=6)), "{mean}");
        let words = mean.to_string();
        assert!(words.starts_with("for +-2 % of the mean TTFT: "), "{words}");
        assert!(words.ends_with(" % by 200)"), "{words}");
        // The 99th percentile needs more than 368 independent values.
        let tail = noisy.iter().find(|plan| plan.figure == "ttft_ms.p99").unwrap();
        assert!(tail.is_rough && tail.requests >= 360, "{tail}");
        assert!(tail.to_string().contains(": at least "), "{tail}");
        let calm = Planning::of(&metrics(200, 2.0));
        assert!(calm[0].is_enough(), "{}", calm[0]);
        assert!(calm[0].to_string().contains("this run is enough"), "{}", calm[0]);
    }
}
