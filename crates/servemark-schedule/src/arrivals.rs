//! How requests arrive.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_rng::RandomState;

use crate::{Burstiness, Ramp, Rate, Schedule, ScheduleError, Slowdown, gamma};

/// How requests arrive.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(tag = "process", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ArrivalSpec {
    /// Everything is due at once.
    #[default]
    Burst,
    /// Gaps of a gamma distribution, drawn as vLLM draws them and stretched until the last request
    /// is due when the rate says so. The first is due a gap after the start.
    Gamma {
        /// The mean rate.
        requests_per_second: Rate,
        /// How evenly requests follow one another.
        burstiness: Burstiness,
    },
    /// Independent requests: exponential gaps, drawn as SGLang draws them.
    Poisson {
        /// The mean rate.
        requests_per_second: Rate,
    },
    /// The same at a rate that grows from the first request to the last; nothing is stretched.
    Ramp {
        /// How the rate grows.
        ramp: Ramp,
        /// How evenly requests follow one another.
        burstiness: Burstiness,
    },
    /// When the data set says, counted from the start of the run and not from the first request;
    /// one that would go back in time is due with the one before it. vLLM plays its traces so.
    Timetable,
    /// As they did once: when each session began is the data set's to say.
    Trace {
        /// By how much the trace is stretched.
        slowdown: Slowdown,
    },
}

impl ArrivalSpec {
    /// What the peers' `--request-rate` means: Poisson arrivals at a finite rate, everything at
    /// once at an infinite one.
    pub fn at_rate(requests_per_second: f64) -> Result<Self, ScheduleError> {
        if requests_per_second == f64::INFINITY {
            return Ok(Self::Burst);
        }
        Ok(Self::Poisson { requests_per_second: Rate::new(requests_per_second)? })
    }

    /// The same process at another rate. What has none of its own becomes what
    /// [`at_rate`](Self::at_rate) makes of it.
    pub fn with_rate(&self, requests_per_second: f64) -> Result<Self, ScheduleError> {
        match self {
            Self::Gamma { burstiness, .. } if requests_per_second != f64::INFINITY => {
                let requests_per_second = Rate::new(requests_per_second)?;
                Ok(Self::Gamma { requests_per_second, burstiness: *burstiness })
            }
            _ => Self::at_rate(requests_per_second),
        }
    }

    /// Whether everything is due at once.
    pub fn is_burst(&self) -> bool {
        matches!(self, Self::Burst)
    }

    /// Whether arrivals are a trace's.
    pub fn is_trace(&self) -> bool {
        matches!(self, Self::Timetable | Self::Trace { .. })
    }

    /// Requests per second in the long run; none if everything is due at once, at a rate that
    /// grows, or when a trace says.
    pub fn mean_rate(&self) -> Option<f64> {
        match self {
            Self::Burst | Self::Ramp { .. } | Self::Timetable | Self::Trace { .. } => None,
            Self::Gamma { requests_per_second, .. } | Self::Poisson { requests_per_second } => {
                Some(requests_per_second.per_second())
            }
        }
    }

    /// When each request is due. `begins` has an entry for each: when it began, if a trace says so.
    ///
    /// The state is the run's own, left where the data set's draws ended. A Poisson process takes
    /// one more gap than it uses, the one after the last request, because SGLang 0.5.23 does and
    /// whatever is drawn next must meet the same stream.
    pub fn schedule(
        &self,
        begins: &[Option<Duration>],
        random: &mut RandomState,
    ) -> Result<Schedule, ScheduleError> {
        self.schedule_with(begins, random, |_| {})
    }

    /// The same with something else drawn for each request, before the gap that follows it. SGLang
    /// chooses adapters there.
    pub fn schedule_with(
        &self,
        begins: &[Option<Duration>],
        random: &mut RandomState,
        mut each: impl FnMut(&mut RandomState),
    ) -> Result<Schedule, ScheduleError> {
        if let Self::Poisson { requests_per_second } = self {
            let mean_gap = 1.0 / requests_per_second.per_second();
            let gap = |_: &_| {
                each(random);
                random.numpy.exponential(mean_gap)
            };
            return Ok(Schedule::from_gaps(&begins.iter().map(gap).collect::<Vec<f64>>()));
        }
        for _ in begins {
            each(random);
        }
        let (numpy, requests) = (&mut random.numpy, begins.len());
        Ok(match self {
            Self::Gamma { requests_per_second, burstiness } => {
                let due = gamma::at_rate(*requests_per_second, *burstiness, requests, numpy);
                Schedule::from_offsets(&due)
            }
            Self::Ramp { ramp, burstiness } => {
                Schedule::from_offsets(&gamma::on_ramp(ramp, *burstiness, requests, numpy))
            }
            Self::Timetable => timetable(begins)?,
            Self::Trace { slowdown } => slowdown.replay(begins)?,
            Self::Burst | Self::Poisson { .. } => Schedule::burst(requests),
        })
    }
}

fn timetable(begins: &[Option<Duration>]) -> Result<Schedule, ScheduleError> {
    let told = begins.iter().zip(1..);
    let due = told.map(|(begins, request)| begins.ok_or(ScheduleError::NoTimestamp { request }));
    let due: Vec<f64> =
        due.map(|due| due.map(|due| due.as_secs_f64())).collect::<Result<_, _>>()?;
    Ok(Schedule::from_offsets(&due))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_infinite_rate_is_a_burst() {
        assert_eq!(ArrivalSpec::at_rate(f64::INFINITY), Ok(ArrivalSpec::Burst));
        assert_eq!(ArrivalSpec::at_rate(0.0), Err(ScheduleError::RateNotPositive(0.0)));
    }

    #[test]
    fn another_rate_keeps_the_gaps_kind() {
        let burstiness = Burstiness::EVEN;
        let gamma =
            |rate| ArrivalSpec::Gamma { requests_per_second: Rate::new(rate).unwrap(), burstiness };
        assert_eq!(gamma(1.0).with_rate(2.0), Ok(gamma(2.0)));
        assert_eq!(gamma(1.0).with_rate(f64::INFINITY), Ok(ArrivalSpec::Burst));
        assert_eq!(ArrivalSpec::Burst.with_rate(2.0), ArrivalSpec::at_rate(2.0));
        assert_eq!(gamma(1.0).with_rate(0.0), Err(ScheduleError::RateNotPositive(0.0)));
    }

    #[test]
    fn a_burst_draws_nothing() {
        let mut random = RandomState::seeded(1);
        let schedule = ArrivalSpec::Burst.schedule(&[None; 3], &mut random).unwrap();
        assert!(schedule.iter().all(|due| due.is_zero()));
        assert_eq!((schedule.len(), random), (3, RandomState::seeded(1)));
    }

    #[test]
    fn a_gap_is_drawn_for_the_last_request_too() {
        let mut random = RandomState::seeded(7);
        ArrivalSpec::at_rate(2.0).unwrap().schedule(&[None; 5], &mut random).unwrap();
        let mut expected = RandomState::seeded(7);
        for _ in 0..5 {
            expected.numpy.exponential(0.5);
        }
        assert_eq!(random, expected);
    }

    #[test]
    fn specs_survive_a_file() {
        let poisson = ArrivalSpec::at_rate(12.5).unwrap();
        for (spec, json) in [
            (ArrivalSpec::Burst, r#"{"process":"burst"}"#),
            (poisson, r#"{"process":"poisson","requests_per_second":12.5}"#),
            (
                ArrivalSpec::Gamma {
                    requests_per_second: Rate::new(3.0).unwrap(),
                    burstiness: Burstiness::EVEN,
                },
                r#"{"process":"gamma","requests_per_second":3.0,"burstiness":null}"#,
            ),
            (ArrivalSpec::Timetable, r#"{"process":"timetable"}"#),
            (
                ArrivalSpec::Trace { slowdown: Slowdown::default() },
                r#"{"process":"trace","slowdown":1.0}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&spec).unwrap(), json);
            assert_eq!(serde_json::from_str::<ArrivalSpec>(json).unwrap(), spec);
        }
    }
}
