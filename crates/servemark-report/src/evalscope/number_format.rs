//! Number formats of evalscope.

use servemark_pyjson::repr;

/// Formats a number with at most `decimals` decimals, as evalscope's newest tables do: ties of the
/// shortest decimal text round up, and trailing zeros are removed.
pub(super) fn short(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "—".to_owned();
    }
    let text = value.abs().to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let (kept, rest) = fraction.split_at(decimals.min(fraction.len()));
    let is_up = if value < 0.0 { rest > "5" } else { rest >= "5" };
    let digits = format!("{whole}{kept}");
    let digits = if is_up { next(&digits) } else { digits };
    let (whole, kept) = digits.split_at(digits.len() - kept.len());
    let shown = format!("{whole}.{kept}");
    let shown = shown.trim_end_matches('0').trim_end_matches('.');
    match shown {
        "0" => shown.to_owned(),
        _ if value < 0.0 => format!("-{shown}"),
        _ => shown.to_owned(),
    }
}

/// Formats a concurrency limit or a request rate; `none` stands for no limit.
pub(super) fn load_text(value: f64, none: &str) -> String {
    if value < 0.0 { none.to_owned() } else { short(value, 2) }
}

/// Increments a non-negative integer in decimal digits.
fn next(digits: &str) -> String {
    let kept = digits.trim_end_matches('9');
    let nines = "0".repeat(digits.len() - kept.len());
    match kept.chars().last().and_then(|digit| char::from_digit(digit.to_digit(10)? + 1, 10)) {
        Some(last) => format!("{}{last}{nines}", &kept[..kept.len() - 1]),
        None => format!("1{nines}"),
    }
}

/// Rounds a number to `decimals` decimals, as Python's `round` does.
pub(super) fn round(value: f64, decimals: usize) -> f64 {
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

/// Formats a number with exactly `decimals` decimals; `nan` if there is none.
pub(super) fn fixed(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "nan".to_owned(), |value| format!("{value:.decimals$}"))
}

/// Formats a number as Python's `format(value, ",")` does: the shortest text, with commas between
/// thousands.
pub(super) fn grouped(value: f64) -> String {
    commas(&repr(value))
}

/// Inserts commas between the thousands of a number in decimal digits.
pub(super) fn commas(text: &str) -> String {
    let (whole, rest) = text.split_at(text.find(['.', 'e']).unwrap_or(text.len()));
    let (sign, digits) = whole.split_at(usize::from(whole.starts_with('-')));
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    format!("{sign}{}{rest}", groups.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tie_goes_up_by_its_decimal_text() {
        let shown = [
            (1.005, 2, "1.01"),
            (12.5, 0, "13"),
            (-0.5, 0, "0"),
            (-12.5, 0, "-12"),
            (9.999, 2, "10"),
            (10.30, 2, "10.3"),
            (20.0, 2, "20"),
            (0.0004, 3, "0"),
            (-1000.0, 2, "-1000"),
            (99.95, 1, "100"),
            (f64::NAN, 2, "—"),
        ];
        for (value, decimals, expected) in shown {
            assert_eq!(short(value, decimals), expected, "{value}");
        }
    }

    #[test]
    fn thousands_are_parted_by_commas() {
        assert_eq!(grouped(30720.0), "30,720.0");
        assert_eq!(grouped(-1_234_567.25), "-1,234,567.25");
        assert_eq!((grouped(82.9994), commas("123")), ("82.9994".to_owned(), "123".to_owned()));
    }

    #[test]
    fn rounding_is_of_the_binary_number() {
        assert_eq!((round(2.675, 2), round(0.125, 2)), (2.67, 0.12));
    }
}
