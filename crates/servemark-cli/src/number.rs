//! Numbers that must lie within limits.

use std::fmt::Display;
use std::time::Duration;

use crate::argparse::Flag;
use crate::error::CliError;
use crate::python;

/// Converts a whole number; refuses one that is below `least` or too large for its type.
pub(crate) fn at_least<T: TryFrom<i64>>(flag: Flag, least: i64, value: i64) -> Result<T, CliError> {
    if value < least {
        return Err(CliError::setting(flag, format!("must be {least} or more, not {value}")));
    }
    T::try_from(value).map_err(|_| CliError::setting(flag, format!("is too large: {value}")))
}

/// Converts the number of an optional flag; refuses one that is below `least` or too large for its
/// type.
pub(crate) fn some_at_least<T: TryFrom<i64>>(
    flag: Flag,
    least: i64,
    value: Option<i64>,
) -> Result<Option<T>, CliError> {
    value.map(|value| at_least(flag, least, value)).transpose()
}

/// Returns a number if it is finite, as numbers in JSON are.
pub(crate) fn finite(flag: Flag, value: f64) -> Result<f64, CliError> {
    if value.is_finite() {
        return Ok(value);
    }
    Err(CliError::setting(flag, format!("must be a finite number, not {value}")))
}

/// Converts a number of seconds; refuses one that is negative or too large.
pub(crate) fn seconds(flag: Flag, value: f64) -> Result<Duration, CliError> {
    Duration::try_from_secs_f64(value).map_err(refused(flag))
}

/// Converts a number of seconds; refuses zero, too.
pub(crate) fn some_time(flag: Flag, seconds: f64) -> Result<Duration, CliError> {
    time_of(seconds).map_err(|why| CliError::setting(flag, why))
}

/// Returns a time of more than zero seconds. The error says what it must be.
pub(crate) fn time_of(seconds: f64) -> Result<Duration, String> {
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() => Ok(time),
        Err(_) if seconds > 0.0 => Err(format!("must be fewer than 1.8e19 seconds, not {seconds}")),
        _ => Err(format!("must be more than 0 seconds, not {seconds}")),
    }
}

/// Returns a conversion of another crate's error into the refusal of a flag.
pub(crate) fn refused<E: Display>(flag: impl Into<&'static str> + Copy) -> impl Fn(E) -> CliError {
    move |error| CliError::setting(flag, format!("cannot be used: {error}"))
}

/// Parses percentiles, separated by commas. Errors about their range have vLLM's words.
pub(crate) fn percentiles(flag: Flag, list: &str) -> Result<Vec<f64>, CliError> {
    let percentile = |text: &str| {
        let percent = python::float(text).map_err(refused(flag))?;
        let fits = (0.0..=100.0).contains(&percent);
        let outside = || CliError::setting(flag, "Percentiles must be in the range [0, 100]");
        fits.then_some(percent).ok_or_else(outside)
    };
    list.split(',').map(percentile).collect()
}
