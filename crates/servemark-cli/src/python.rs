//! Parses numbers and texts as Python does on command lines, and prints them as in Python's
//! messages.

mod digits;
mod set;

use serde_json::Value;
pub(crate) use servemark_pyjson::quoted as repr;

pub(crate) use self::set::set_order;

use self::digits::ascii_digits;
use crate::nearest::{did_you_mean, listed};

/// Parses a number as Python's `int()` does. The error has argparse's message.
pub(crate) fn int(text: &str) -> Result<i64, String> {
    let digits = int_digits(text)?;
    digits.parse().map_err(|_| format!("{} is too large", repr(text)))
}

/// Parses an upper limit as Python's `int()` does. A limit beyond 64 bits becomes the nearest
/// number of 64 bits.
pub(crate) fn limit(text: &str) -> Result<i64, String> {
    let digits = int_digits(text)?;
    let most = if digits.starts_with('-') { i64::MIN } else { i64::MAX };
    Ok(digits.parse().unwrap_or(most))
}

/// Returns the sign and the digits of a whole number.
fn int_digits(text: &str) -> Result<String, String> {
    let digits = plain_digits(text).ok_or_else(|| format!("invalid int value: {}", repr(text)))?;
    let signed = digits.strip_prefix(['+', '-']).unwrap_or(&digits);
    if signed.is_empty() || !signed.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("invalid int value: {}", repr(text)));
    }
    Ok(digits)
}

/// Parses a number as Python's `float()` does. The error has argparse's message.
pub(crate) fn float(text: &str) -> Result<f64, String> {
    plain_digits(text)
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| format!("invalid float value: {}", repr(text)))
}

/// Parses a name by `from_name`. The error lists the known names.
pub(crate) fn parse_known<T>(
    name: &str,
    known: &[&str],
    from_name: impl FnOnce(&str) -> Option<T>,
) -> Result<T, String> {
    let unknown = || {
        let hint = did_you_mean(name, known.iter().copied());
        format!("expected one of {}, got {}{hint}", known.join(", "), repr(name))
    };
    from_name(name).ok_or_else(unknown)
}

/// Returns the message about a value that is none of the known ones, with the most similar of them.
pub(crate) fn expected(known: &[&str], given: &str) -> String {
    let hint = did_you_mean(given, known.iter().copied());
    format!("expected {}, got {}{hint}", listed(known, "or"), repr(given))
}

/// Parses JSON. The error is argparse's message about a value that Python's `json.loads` refuses.
pub(crate) fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|_| format!("invalid loads value: {}", repr(text)))
}

/// Parses a finite number above 0, which a time or a limit can be. The error has SGLang's message.
pub(crate) fn finite_positive_float(text: &str) -> Result<f64, String> {
    float(text)
        .ok()
        .filter(|number| number.is_finite() && *number > 0.0)
        .ok_or_else(|| format!("expected a finite float > 0, got {}", repr(text)))
}

/// Returns the text without the space around it and without the underscores that Python allows
/// between two digits, and with the digits of all scripts as ASCII's; `None` if an underscore
/// stands elsewhere.
fn plain_digits(text: &str) -> Option<String> {
    let text = &*ascii_digits(text.trim());
    let bytes = text.as_bytes();
    let is_digit =
        |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let stands_well =
        |(at, _): (usize, &str)| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
    text.match_indices('_').all(stands_well).then(|| text.replace('_', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers() {
        for (text, expected) in
            [("7", 7), ("1_000", 1000), (" -5 ", -5), ("+3", 3), ("007", 7), ("٣", 3)]
        {
            assert_eq!(int(text), Ok(expected), "{text}");
        }
        for text in ["", "x", "1.0", "_1", "1__0", "1_", "0x10", "- 5", "+-5"] {
            assert_eq!(int(text), Err(format!("invalid int value: '{text}'")));
        }
        assert_eq!(int("99999999999999999999"), Err("'99999999999999999999' is too large".into()));
        assert_eq!(limit("99999999999999999999"), Ok(i64::MAX));
        assert_eq!((limit("-99999999999999999999"), limit(" 7 ")), (Ok(i64::MIN), Ok(7)));
    }

    #[test]
    fn numbers_with_a_fraction() {
        for (text, expected) in [
            (" 0.5 ", 0.5),
            ("1e2", 100.0),
            ("1_0.5", 10.5),
            ("Infinity", f64::INFINITY),
            (".5", 0.5),
        ] {
            assert_eq!(float(text), Ok(expected), "{text}");
        }
        assert!(float("NaN").unwrap().is_nan());
        for text in ["", "abc", "1_", "1._5", "1,5"] {
            assert_eq!(float(text), Err(format!("invalid float value: '{text}'")));
        }
    }
}
