//! Arrival processes.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_rng::RandomState;

use crate::{Burstiness, Ramp, Rate, Schedule, ScheduleError, Slowdown, gamma};

/// An arrival process: when requests arrive.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(tag = "process", rename_all = "snake_case")]
pub enum ArrivalSpec {
    /// All requests are due at once.
    #[default]
    Burst,
    /// Gaps of a gamma distribution, drawn as vLLM draws them, and scaled so that the last request
    /// is due when the rate implies. The first request is due one gap after the start.
    Gamma {
        /// Mean rate.
        requests_per_second: Rate,
        /// Evenness of the gaps.
        burstiness: Burstiness,
    },
    /// Independent requests: exponential gaps, drawn as SGLang draws them.
    Poisson {
        /// Mean rate.
        requests_per_second: Rate,
    },
    /// Gaps of a gamma distribution at a rate that grows from the first request to the last; they
    /// are not scaled.
    Ramp {
        /// How the rate grows.
        ramp: Ramp,
        /// Evenness of the gaps.
        burstiness: Burstiness,
    },
    /// The data set gives the due times, counted from the start of the run and not from the first
    /// request. A time that goes back is raised to the previous one. vLLM replays its traces this
    /// way.
    Timetable,
    /// A recorded trace, replayed from its first request on; the data set gives the times.
    Trace {
        /// Factor by which the trace is stretched.
        slowdown: Slowdown,
    },
}

impl ArrivalSpec {
    /// Creates the process that the peers' `--request-rate` means: Poisson arrivals at a finite
    /// rate, a burst at an infinite one.
    pub fn at_rate(requests_per_second: f64) -> Result<Self, ScheduleError> {
        if requests_per_second == f64::INFINITY {
            return Ok(Self::Burst);
        }
        Ok(Self::Poisson { requests_per_second: Rate::new(requests_per_second)? })
    }

    /// Returns this process at another rate. A process without a rate becomes what
    /// [`at_rate`](Self::at_rate) creates.
    pub fn with_rate(&self, requests_per_second: f64) -> Result<Self, ScheduleError> {
        match self {
            Self::Gamma { burstiness, .. } if requests_per_second != f64::INFINITY => {
                let requests_per_second = Rate::new(requests_per_second)?;
                Ok(Self::Gamma { requests_per_second, burstiness: *burstiness })
            }
            _ => Self::at_rate(requests_per_second),
        }
    }

    /// Returns whether all requests are due at once.
    pub fn is_burst(&self) -> bool {
        matches!(self, Self::Burst)
    }

    /// Returns whether a trace gives the arrivals.
    pub fn is_trace(&self) -> bool {
        matches!(self, Self::Timetable | Self::Trace { .. })
    }

    /// Returns the mean rate in requests per second; `None` for a burst, a growing rate, or a
    /// trace.
    pub fn mean_rate(&self) -> Option<f64> {
        match self {
            Self::Burst | Self::Ramp { .. } | Self::Timetable | Self::Trace { .. } => None,
            Self::Gamma { requests_per_second, .. } | Self::Poisson { requests_per_second } => {
                Some(requests_per_second.per_second())
            }
        }
    }

    /// Returns when each request is due. `begins` has an entry for each request: its start time, if
    /// a trace gives it.
    ///
    /// `random` is the run's own state, as the data set's draws left it. A Poisson process draws
    /// one gap more than it uses, the one after the last request, because SGLang 0.5.23 does so and
    /// later draws must continue from the same position of the stream.
    pub fn schedule(
        &self,
        begins: &[Option<Duration>],
        random: &mut RandomState,
    ) -> Result<Schedule, ScheduleError> {
        self.schedule_with(begins, random, |_| {})
    }

    /// Returns when each request is due, as [`schedule`](Self::schedule) does, and calls `each` for
    /// every request before the gap that follows it. SGLang chooses adapters at this point.
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
    let lines = begins.iter().zip(1..);
    let due = lines.map(|(begins, request)| begins.ok_or(ScheduleError::NoTimestamp { request }));
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
