//! Reads JSON as Python's `json` does: `NaN` and the infinities are numbers there.

use std::borrow::Cow;

use serde_json::Value;

/// Reads a document as Python does; a number that JSON cannot hold becomes `null`.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match standard(text) {
        Cow::Owned(standard) => serde_json::from_str(&standard),
        Cow::Borrowed(_) => Err(error),
    })
}

/// Replaces every number that JSON cannot hold with `null`. Line numbers do not change.
pub fn standard(text: &str) -> Cow<'_, str> {
    let mut standard = String::new();
    let mut copied = 0;
    for (start, word) in bare_words(text) {
        if is_beyond_json(word) {
            standard.push_str(&text[copied..start]);
            standard.push_str("null");
            copied = start + word.len();
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    standard.push_str(&text[copied..]);
    Cow::Owned(standard)
}

/// Returns the numbers and names outside of strings, each with its position.
fn bare_words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() && !is_word(bytes[at]) {
            at = if bytes[at] == b'"' { string_end(bytes, at + 1) } else { at + 1 };
        }
        let start = at;
        at += bytes[start..].iter().take_while(|byte| is_word(**byte)).count();
        (start < at).then(|| (start, &text[start..at]))
    })
}

/// Returns the position after the string whose content begins at `start`, closing quote included.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn is_beyond_json(word: &str) -> bool {
    let overflows = || word.parse().is_ok_and(f64::is_infinite) && word.contains(['e', 'E']);
    matches!(word, "NaN" | "Infinity" | "-Infinity") || overflows()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(text: &str, expected: &str) {
        assert_eq!(standard(text), expected);
    }

    #[test]
    fn numbers_beyond_json_become_null() {
        becomes(
            r#"{"a":NaN,"b":[Infinity, -Infinity],"c":1e999}"#,
            r#"{"a":null,"b":[null, null],"c":null}"#,
        );
    }

    #[test]
    fn everything_else_stays() {
        for text in [
            r#"{"NaN": "Infinity \" NaN 1e999", "n": [-1.5e+3, 007, true, Inf, nan]}"#,
            r#""never closed NaN"#,
            "\"ends in a backslash \\",
            "{'NaN'é}",
        ] {
            let expected = text.replace("'NaN'", "'null'");
            becomes(text, &expected);
        }
    }
}
