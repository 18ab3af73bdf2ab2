//! Periods in the middle of a run in which the server was away, found from failed connection
//! attempts.

use std::fmt;

use serde::Serialize;
use servemark_core::{ErrorKind, Phase, RequestRecord, RunLog, Stamp};

/// A period in which no request could connect, with answered requests before and after it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Absence {
    /// Start of the first request that could not connect, in seconds since the run's first request.
    pub from_s: f64,
    /// Start of the first request that was answered again, in seconds since the run's first
    /// request.
    pub until_s: f64,
    /// Number of requests that could not connect.
    pub requests: usize,
}

/// Finds the absences of the server during a run's measurement, in order of time.
///
/// Only a request for which no connection was made counts. A request that was sent and then lost
/// its connection is ignored.
pub(crate) fn absences(log: &RunLog) -> Vec<Absence> {
    let mut attempts: Vec<(Stamp, Attempt)> = log
        .records()
        .iter()
        .filter(|record| matches!(record.phase, Phase::Measure | Phase::Retried))
        .filter_map(|record| Some((record.started(), Attempt::of(record)?)))
        .collect();
    attempts.sort_by_key(|(at, _)| *at);
    let Some((start, _)) = attempts.first().copied() else { return Vec::new() };
    let since = |at: Stamp| at.since(start).as_secs_f64();
    let mut absences = Vec::new();
    // `away`: since the last answer, the start of the first refused attempt and the number of them.
    let (mut was_there, mut away) = (false, None::<(Stamp, usize)>);
    for (at, attempt) in attempts {
        match (attempt, away) {
            (Attempt::Answered, Some((from, requests))) => {
                absences.push(Absence { from_s: since(from), until_s: since(at), requests });
                away = None;
            }
            (Attempt::Answered, None) => was_there = true,
            (Attempt::Refused, None) if was_there => away = Some((at, 1)),
            (Attempt::Refused, Some((from, requests))) => away = Some((from, requests + 1)),
            (Attempt::Refused, None) => {}
        }
    }
    absences
}

/// Evidence of a request on the server's presence. Other outcomes are ignored: a time-out may
/// come from an overload, and a status from a gateway.
#[derive(Clone, Copy, Debug)]
enum Attempt {
    Answered,
    Refused,
}

impl Attempt {
    fn of(record: &RequestRecord) -> Option<Self> {
        match &record.outcome {
            Ok(_) => Some(Self::Answered),
            Err(error) if error.kind == ErrorKind::Connect && record.sent.is_none() => {
                Some(Self::Refused)
            }
            Err(_) => None,
        }
    }
}

/// Displays absences as one line of a report.
#[derive(Clone, Copy, Debug)]
pub struct Absences<'a>(pub &'a [Absence]);

impl fmt::Display for Absences<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests: usize = self.0.iter().map(|absence| absence.requests).sum();
        let times = match self.0.len() {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        };
        write!(f, "the server was away {times}, ")?;
        for (place, absence) in self.0.iter().take(MOST_TOLD).enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}from {:.1} s to {:.1} s", absence.from_s, absence.until_s)?;
        }
        if self.0.len() > MOST_TOLD {
            f.write_str(", ...")?;
        }
        let were = if requests == 1 { "request" } else { "requests" };
        write!(f, ": {requests} {were} failed to connect")
    }
}

/// Number of absences that the line lists with their times.
const MOST_TOLD: usize = 2;

#[cfg(test)]
mod tests {
    use servemark_core::{Finish, Header, Recorder, RequestError, RunFacts, Sample};

    use super::*;

    /// Returns the record of the request in one place of a timeline of 0.1 s steps: `+` was
    /// answered, `x` could not connect, `-` was sent and lost its connection, `t` timed out.
    fn record((place, sign): (usize, char)) -> RequestRecord {
        let at = Stamp::from_nanos(place as u64 * 100_000_000);
        let mut recorder = Recorder::new(place, Phase::Measure, &Sample::new("a", 1, 1), at);
        if sign == '+' || sign == '-' {
            recorder.record_sent(at);
        }
        let failed = |kind| Err(RequestError::new(kind, "gone"));
        let outcome = match sign {
            '+' => Ok(Finish::default()),
            't' => failed(ErrorKind::Timeout),
            _ => failed(ErrorKind::Connect),
        };
        recorder.finish(outcome, at)
    }

    #[track_caller]
    fn check(requests: &str, expected: &[(f64, f64, usize)]) {
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        let mut records: Vec<_> = requests.chars().enumerate().map(record).collect();
        // A log's file has its records in the order of their ends, not of their starts.
        records.reverse();
        let listed = absences(&RunLog::new(header, records, None));
        let listed: Vec<_> =
            listed.into_iter().map(|it| (it.from_s, it.until_s, it.requests)).collect();
        assert_eq!(listed, expected, "{requests}");
    }

    #[test]
    fn a_server_that_goes_away_and_comes_back_was_away_once() {
        check("++xxx+++", &[(0.2, 0.5, 3)]);
        check("++-tx-t+++", &[(0.4, 0.7, 1)]);
    }

    #[test]
    fn each_absence_is_told() {
        check("+x++xx+", &[(0.1, 0.2, 1), (0.4, 0.6, 2)]);
    }

    #[test]
    fn an_end_without_a_return_and_a_late_start_are_no_absences() {
        check("xx++", &[]);
        check("++xx", &[]);
        check("+--+t+", &[]);
        check("", &[]);
    }

    #[test]
    fn absences_are_one_line() {
        let away = |from_s, until_s, requests| Absence { from_s, until_s, requests };
        assert_eq!(
            Absences(&[away(12.34, 15.91, 41)]).to_string(),
            "the server was away once, from 12.3 s to 15.9 s: 41 requests failed to connect"
        );
        assert_eq!(
            Absences(&[away(1.0, 2.0, 1), away(3.0, 4.0, 2), away(5.0, 6.0, 3)]).to_string(),
            "the server was away 3 times, from 1.0 s to 2.0 s, from 3.0 s to 4.0 s, ...: \
             6 requests failed to connect"
        );
    }
}
