//! Where Python's `json` and the standard part ways.
//!
//! SGLang reads its files with Python, which takes `NaN` and the infinities for numbers and lets
//! a number overflow to infinity, and it counts the tokens of JSON as Python writes it.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// Reads a document as Python does; a number that JSON cannot hold becomes `null`.
pub(crate) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match standard(text) {
        Cow::Owned(standard) => serde_json::from_str(&standard),
        Cow::Borrowed(_) => Err(error),
    })
}

/// The text with `null` for every number that JSON cannot hold. Lines stay where they are.
pub(crate) fn standard(text: &str) -> Cow<'_, str> {
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

/// The text of a value as Python's `json.dumps` writes it.
pub(crate) fn dumps(value: &Value) -> String {
    let mut json = Vec::new();
    value
        .serialize(&mut Serializer::with_formatter(&mut json, PythonFormatter))
        .expect("a value that was read can be written to memory");
    String::from_utf8(json).expect("only ASCII is written")
}

/// Numbers and names outside of strings, each with its place.
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

/// Where the string that begins at `start` is over, its quotation mark included.
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

/// Blanks after commas and colons, ASCII only, and floats as `repr` writes them.
struct PythonFormatter;

impl Formatter for PythonFormatter {
    fn write_f64<W: Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        // Rust and Python switch to exponents at the same sizes; Python's have a sign and at
        // least two digits.
        let text = format!("{value:?}");
        match text.split_once('e') {
            None => writer.write_all(text.as_bytes()),
            Some((digits, exponent)) => match exponent.strip_prefix('-') {
                Some(size) => write!(writer, "{digits}e-{size:0>2}"),
                None => write!(writer, "{digits}e+{exponent:0>2}"),
            },
        }
    }

    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        for c in fragment.chars() {
            match c {
                ' '..='~' => writer.write_all(&[c as u8])?,
                other => other
                    .encode_utf16(&mut [0; 2])
                    .iter()
                    .try_for_each(|unit| write!(writer, "\\u{unit:04x}"))?,
            }
        }
        Ok(())
    }

    fn begin_array_value<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn dumps_as(json: &str, expected: &str) {
        assert_eq!(dumps(&serde_json::from_str(json).unwrap()), expected);
    }

    #[track_caller]
    fn becomes(text: &str, expected: &str) {
        assert_eq!(standard(text), expected);
    }

    #[test]
    fn separators_and_order_are_those_of_python() {
        dumps_as(
            r#"{"b":[1,true,null],"a":{},"c":[]}"#,
            r#"{"b": [1, true, null], "a": {}, "c": []}"#,
        );
    }

    #[test]
    fn text_beyond_ascii_is_escaped() {
        dumps_as(r#""Zürich \u007f 🚀 \n\"\\""#, r#""Z\u00fcrich \u007f \ud83d\ude80 \n\"\\""#);
        dumps_as(r#""\b\f\u001f/""#, r#""\b\f\u001f/""#);
    }

    #[test]
    fn floats_are_written_as_repr_does() {
        dumps_as(
            "[1e16, 1e15, 1e-5, 0.0001, 1e22, -0.0, 1.5e-7, 5e-324, 100.0, 7]",
            "[1e+16, 1000000000000000.0, 1e-05, 0.0001, 1e+22, -0.0, 1.5e-07, 5e-324, 100.0, 7]",
        );
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
