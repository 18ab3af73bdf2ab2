//! How requests arrive.

use serde::{Deserialize, Serialize};
use servemark_rng::RandomState;

use crate::{Rate, Schedule, ScheduleError};

/// How requests arrive.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(tag = "process", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ArrivalSpec {
    /// Everything is due at once.
    #[default]
    Burst,
    /// Independent requests: exponential gaps, drawn as SGLang draws them.
    Poisson {
        /// The mean rate.
        requests_per_second: Rate,
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

    /// Whether everything is due at once.
    pub fn is_burst(&self) -> bool {
        matches!(self, Self::Burst)
    }

    /// Requests per second in the long run; none if everything is due at once.
    pub fn mean_rate(&self) -> Option<f64> {
        match self {
            Self::Burst => None,
            Self::Poisson { requests_per_second } => Some(requests_per_second.per_second()),
        }
    }

    /// Draws when each of `count` requests is due.
    ///
    /// The state is the run's own, left where the data set's draws ended. A Poisson process takes
    /// one more gap than it uses, the one after the last request, because SGLang 0.5.23 does and
    /// whatever is drawn next must meet the same stream.
    pub fn schedule(&self, count: usize, random: &mut RandomState) -> Schedule {
        match self {
            Self::Burst => Schedule::burst(count),
            Self::Poisson { requests_per_second } => {
                let mean_gap = 1.0 / requests_per_second.per_second();
                let gaps: Vec<f64> =
                    (0..count).map(|_| random.numpy.exponential(mean_gap)).collect();
                Schedule::from_gaps(&gaps)
            }
        }
    }
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
    fn a_burst_draws_nothing() {
        let mut random = RandomState::seeded(1);
        let schedule = ArrivalSpec::Burst.schedule(3, &mut random);
        assert!(schedule.iter().all(|due| due.is_zero()));
        assert_eq!((schedule.len(), random), (3, RandomState::seeded(1)));
    }

    #[test]
    fn a_gap_is_drawn_for_the_last_request_too() {
        let mut random = RandomState::seeded(7);
        ArrivalSpec::at_rate(2.0).unwrap().schedule(5, &mut random);
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
        ] {
            assert_eq!(serde_json::to_string(&spec).unwrap(), json);
            assert_eq!(serde_json::from_str::<ArrivalSpec>(json).unwrap(), spec);
        }
    }
}
