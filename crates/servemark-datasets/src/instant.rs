//! Timestamps as traces write them.

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Parses a date and time such as `2023-11-16 18:17:03.9799600` or `2026-02-25T10:00:00+00:00`.
/// Without a time zone, UTC is assumed.
pub(crate) fn parse(text: &str) -> Result<Timestamp, String> {
    let civil = || {
        let moment: DateTime = text.parse()?;
        moment.to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp())
    };
    let parsed: Result<Timestamp, jiff::Error> = text.parse().or_else(|_: jiff::Error| civil());
    parsed.map_err(|_| format!("{text:?} is not a date and time, such as 2023-11-16 18:17:03.97"))
}

/// Returns the time from `start` to `moment`, or zero if `moment` is earlier.
pub(crate) fn since(start: Timestamp, moment: Timestamp) -> Duration {
    Duration::try_from(moment.duration_since(start)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(start: &str, moment: &str, nanos: u128) {
        let (start, moment) = (parse(start).unwrap(), parse(moment).unwrap());
        assert_eq!(since(start, moment).as_nanos(), nanos);
    }

    #[test]
    fn moments_are_read_as_traces_write_them() {
        check("2023-11-16 18:17:03.9799600", "2023-11-16 18:17:04.0319600", 52_000_000);
        check("2023-12-31 23:59:59", "2024-01-01T00:00:01.5+00:00", 2_500_000_000);
        check("2024-05-10 00:00:00.009930+00:00", "2024-05-10T02:00:00.00993+02:00", 0);
    }

    #[test]
    fn everything_else_is_named() {
        for bad in ["", "NaN", "1700000000", "2023-13-01 00:00:00"] {
            assert!(
                parse(bad).unwrap_err().starts_with(&format!("{bad:?} is not a date")),
                "{bad}"
            );
        }
    }
}
