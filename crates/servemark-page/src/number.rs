//! Numbers as a page shows them.

/// Formats a number with about four significant digits, and groups thousands.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    if size >= 999.5 {
        return grouped(value.round());
    }
    if size < 5e-6 {
        return "0".to_owned();
    }
    let digits = if size >= 99.995 {
        1
    } else if size >= 0.9995 {
        2
    } else if size >= 0.01 {
        3
    } else {
        5
    };
    format!("{value:.digits$}")
}

/// Formats a number; an absent one is a dash.
pub(crate) fn maybe(value: Option<f64>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), number)
}

/// Formats a count.
pub(crate) fn count(count: usize) -> String {
    grouped(count as f64)
}

/// Formats a share (0 to 1) in percent.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", number(share * 100.0))
}

/// Formats both ends of an interval, each with about four significant digits.
pub(crate) fn interval(low: f64, high: f64) -> String {
    format!("{} – {}", number(low), number(high))
}

fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 && digits != "0" { format!("-{text}") } else { text }
}

/// Stands for a number that is not known.
pub(crate) const ABSENT: &str = "–";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_about_four_digits() {
        let visible = [0.0, 0.000_31, 0.0123, 1.5, 12.345, 123.45, 999.96, 1234.5, -1_234_567.0];
        let texts = ["0", "0.00031", "0.012", "1.50", "12.35", "123.5", "1,000", "1,235"];
        for (value, text) in visible.iter().zip(texts) {
            assert_eq!(number(*value), text);
        }
        assert_eq!(number(-1_234_567.0), "-1,234,567");
        assert_eq!(number(f64::NAN), "–");
        assert_eq!(number(-0.000_000_1), "0");
        assert_eq!(percent(0.9876), "98.76 %");
    }
}
