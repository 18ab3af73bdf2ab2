//! The speed at which a trace is replayed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Schedule, ScheduleError};

/// Factor by which a trace is stretched: 1 replays it as it was, 2 at half its speed, 0 all at
/// once.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, PartialOrd, Serialize)]
#[serde(into = "f64", try_from = "f64")]
pub struct Slowdown(f64);

impl Slowdown {
    /// Creates a slowdown from a finite factor that is not negative.
    pub fn new(factor: f64) -> Result<Self, ScheduleError> {
        let is_factor = factor.is_finite() && factor >= 0.0;
        is_factor.then_some(Self(factor)).ok_or(ScheduleError::Slowdown(factor))
    }

    /// Returns the factor by which arrival times are multiplied.
    pub const fn factor(self) -> f64 {
        self.0
    }

    /// Returns the schedule of the trace, whose first request is due at the start.
    pub(crate) fn replay(self, begins: &[Option<Duration>]) -> Result<Schedule, ScheduleError> {
        let begins: Vec<Duration> = (begins.iter().zip(1..))
            .map(|(begins, request)| begins.ok_or(ScheduleError::NoTimestamp { request }))
            .collect::<Result<_, _>>()?;
        if let Some(earlier) = begins.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(ScheduleError::OutOfOrder { request: earlier + 2 });
        }
        let first = begins.first().copied().unwrap_or_default();
        Ok(begins.into_iter().map(|begins| self.stretch(begins.saturating_sub(first))).collect())
    }

    fn stretch(self, offset: Duration) -> Duration {
        Duration::try_from_secs_f64(offset.as_secs_f64() * self.0).unwrap_or(Duration::MAX)
    }
}

impl Default for Slowdown {
    fn default() -> Self {
        Self(1.0)
    }
}

impl TryFrom<f64> for Slowdown {
    type Error = ScheduleError;

    fn try_from(factor: f64) -> Result<Self, ScheduleError> {
        Self::new(factor)
    }
}

impl From<Slowdown> for f64 {
    fn from(slowdown: Slowdown) -> Self {
        slowdown.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(all: &[u64]) -> Vec<Option<Duration>> {
        all.iter().map(|millis| Some(Duration::from_millis(*millis))).collect()
    }

    #[track_caller]
    fn check(factor: f64, begins: &[u64], due: &[u128]) {
        let schedule = Slowdown::new(factor).unwrap().replay(&millis(begins)).unwrap();
        assert_eq!(schedule.iter().map(|due| due.as_millis()).collect::<Vec<_>>(), due);
    }

    #[test]
    fn a_trace_is_played_from_its_first_request_on() {
        check(1.0, &[7000, 7000, 8500], &[0, 0, 1500]);
        check(2.0, &[7000, 7000, 8500], &[0, 0, 3000]);
        check(0.0, &[7000, 9000], &[0, 0]);
        check(1.0, &[], &[]);
    }

    #[test]
    fn a_factor_is_finite_and_not_negative() {
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let message = Slowdown::new(bad).unwrap_err().to_string();
            assert!(message.starts_with("a trace is slowed down by a factor of 0 or more, not"));
        }
        assert!(serde_json::from_str::<Slowdown>("-2").is_err());
    }

    #[test]
    fn a_trace_says_when_and_goes_forward() {
        let once = Slowdown::default();
        let error = once.replay(&[Some(Duration::ZERO), None]).unwrap_err();
        assert_eq!(error, ScheduleError::NoTimestamp { request: 2 });
        let error = once.replay(&millis(&[1, 3, 2])).unwrap_err();
        assert_eq!(error.to_string(), "request 3 begins before request 2; sort the trace by time");
    }

    #[test]
    fn what_no_clock_reaches_is_due_never() {
        let far = [Some(Duration::ZERO), Some(Duration::MAX)];
        assert_eq!(Slowdown::new(9.0).unwrap().replay(&far).unwrap().span(), Duration::MAX);
    }
}
