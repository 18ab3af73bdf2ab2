//! How Python spells numbers and texts, on its command lines and in its messages.

mod set;

use serde_json::Value;
pub(crate) use servemark_pyjson::quoted as repr;

pub(crate) use self::set::set_order;

/// Reads what Python's `int()` reads; the message is argparse's.
pub(crate) fn int(text: &str) -> Result<i64, String> {
    let digits = plain_digits(text).ok_or_else(|| format!("invalid int value: {}", repr(text)))?;
    let signed = digits.strip_prefix(['+', '-']).unwrap_or(&digits);
    if signed.is_empty() || !signed.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("invalid int value: {}", repr(text)));
    }
    digits.parse().map_err(|_| format!("{} is too large", repr(text)))
}

/// Reads what Python's `float()` reads; the message is argparse's.
pub(crate) fn float(text: &str) -> Result<f64, String> {
    plain_digits(text)
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| format!("invalid float value: {}", repr(text)))
}

/// Reads what Python's `json.loads` reads; the message is argparse's.
pub(crate) fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|_| format!("invalid loads value: {}", repr(text)))
}

/// Reads a number that a time or a limit can be; the message is SGLang's.
pub(crate) fn finite_positive_float(text: &str) -> Result<f64, String> {
    float(text)
        .ok()
        .filter(|number| number.is_finite() && *number > 0.0)
        .ok_or_else(|| format!("expected a finite float > 0, got {}", repr(text)))
}

/// The text without the space around it and without the underscores that Python allows between two
/// digits; nothing if one stands elsewhere.
fn plain_digits(text: &str) -> Option<String> {
    let text = text.trim();
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
        for (text, expected) in [("7", 7), ("1_000", 1000), (" -5 ", -5), ("+3", 3), ("007", 7)] {
            assert_eq!(int(text), Ok(expected), "{text}");
        }
        for text in ["", "x", "1.0", "_1", "1__0", "1_", "0x10", "- 5", "+-5"] {
            assert_eq!(int(text), Err(format!("invalid int value: '{text}'")));
        }
        assert_eq!(int("99999999999999999999"), Err("'99999999999999999999' is too large".into()));
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
