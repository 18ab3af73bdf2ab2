//! Numbers that must lie somewhere.

use std::fmt::Display;
use std::time::Duration;

use crate::error::CliError;

/// A whole number that is not below `least` and fits.
pub(crate) fn at_least<T: TryFrom<i64>>(
    flag: &'static str,
    least: i64,
    value: i64,
) -> Result<T, CliError> {
    if value < least {
        return Err(CliError::setting(flag, format!("must be {least} or more, not {value}")));
    }
    T::try_from(value).map_err(|_| CliError::setting(flag, format!("is too large: {value}")))
}

/// Returns the number of an optional flag, which must be at least `least`.
pub(crate) fn some_at_least<T: TryFrom<i64>>(
    flag: &'static str,
    least: i64,
    value: Option<i64>,
) -> Result<Option<T>, CliError> {
    value.map(|value| at_least(flag, least, value)).transpose()
}

/// A number that JSON can say.
pub(crate) fn finite(flag: &'static str, value: f64) -> Result<f64, CliError> {
    if value.is_finite() {
        return Ok(value);
    }
    Err(CliError::setting(flag, format!("must be a finite number, not {value}")))
}

/// A time.
pub(crate) fn seconds(flag: &'static str, value: f64) -> Result<Duration, CliError> {
    Duration::try_from_secs_f64(value).map_err(refused(flag))
}

/// A time that is not none.
pub(crate) fn some_time(flag: &'static str, seconds: f64) -> Result<Duration, CliError> {
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

/// Puts a flag's name before another crate's refusal.
pub(crate) fn refused<E: Display>(flag: &'static str) -> impl Fn(E) -> CliError {
    move |error| CliError::setting(flag, format!("cannot be used: {error}"))
}
