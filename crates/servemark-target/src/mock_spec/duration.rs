//! Durations in the notation of users: milliseconds, or a number with its unit.

use std::fmt;
use std::time::Duration;

use serde::de::{Deserializer, Error, Visitor};
use serde::ser::Serializer;

use super::MockSpecError;

/// Parses `250us`, `20ms`, `1.5s`, or a bare number of milliseconds.
pub fn parse_duration(text: &str) -> Result<Duration, MockSpecError> {
    let (number, unit_seconds) = UNITS
        .iter()
        .find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)))
        .unwrap_or((text, MILLISECOND));
    number
        .trim()
        .parse()
        .ok()
        .and_then(|number: f64| Duration::try_from_secs_f64(number * unit_seconds).ok())
        .ok_or_else(|| MockSpecError::Duration { given: text.to_owned() })
}

/// Returns the duration in milliseconds, with the fraction.
pub(super) fn millis(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}

pub(super) fn serialize<S: Serializer>(
    duration: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(millis(*duration))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Duration, D::Error> {
    deserializer.deserialize_any(DurationVisitor)
}

struct DurationVisitor;

impl Visitor<'_> for DurationVisitor {
    type Value = Duration;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("milliseconds, or text such as \"1.5s\"")
    }

    fn visit_f64<E: Error>(self, millis: f64) -> Result<Duration, E> {
        Duration::try_from_secs_f64(millis * MILLISECOND).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, millis: u64) -> Result<Duration, E> {
        Ok(Duration::from_millis(millis))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Duration, E> {
        parse_duration(text).map_err(E::custom)
    }
}

const MILLISECOND: f64 = 1e-3;

/// `s` comes last because it is also a suffix of the other units.
const UNITS: [(&str, f64); 3] = [("us", 1e-6), ("ms", MILLISECOND), ("s", 1.0)];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected_us: Option<u64>) {
        assert_eq!(parse_duration(text).ok(), expected_us.map(Duration::from_micros), "{text}");
    }

    #[test]
    fn units() {
        check("20", Some(20_000));
        check("20ms", Some(20_000));
        check("0.25 ms", Some(250));
        check("250us", Some(250));
        check("1.5s", Some(1_500_000));
        check("0", Some(0));
    }

    #[test]
    fn nonsense() {
        for text in ["", "s", "-1ms", "ten", "inf", "5h"] {
            check(text, None);
        }
    }
}
