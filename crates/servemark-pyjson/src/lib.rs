//! Writes numbers, texts and JSON as Python does.
//!
//! The peers are Python programs: their users compare result files byte for byte, models are given
//! tools as `json.dumps` writes them, and chat templates render with it. This crate writes those
//! bytes, and reads the JSON that Python writes. It opens no file and knows no data set, report or
//! template.
//!
//! ```
//! use servemark_pyjson::{Text, repr, to_string};
//!
//! let value = serde_json::json!({"name": "Zürich", "share": 1e-7});
//! assert_eq!(to_string(&value, Text::Ascii)?, r#"{"name": "Z\u00fcrich", "share": 1e-07}"#);
//! assert_eq!(repr(1e22), "1e+22");
//! # Ok::<(), serde_json::Error>(())
//! ```

mod read;

use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CharEscape, Formatter, Serializer};

pub use self::read::{parse, standard};

/// Returns a float as `repr` writes it: the shortest text that reads back as the same number.
pub fn repr(value: f64) -> String {
    let magnitude = value.abs();
    if value.is_nan() || value.is_infinite() {
        value.to_string().to_lowercase()
    } else if magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) {
        format!("{value:?}")
    } else {
        padded_exponent(&format!("{value:e}"))
    }
}

/// Returns a text as Python's `repr` shows it, except that only unprintable ASCII is escaped: other
/// unprintable characters are kept as they are.
pub fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut repr = String::from(quote);
    for sign in text.chars() {
        match sign {
            '\\' => repr.push_str("\\\\"),
            '\n' => repr.push_str("\\n"),
            '\r' => repr.push_str("\\r"),
            '\t' => repr.push_str("\\t"),
            sign if sign == quote => repr.extend(['\\', sign]),
            sign if sign.is_ascii_control() => repr.extend(hex_escape(sign)),
            sign => repr.push(sign),
        }
    }
    repr.push(quote);
    repr
}

fn hex_escape(sign: char) -> [char; 4] {
    let digit = |number| char::from_digit(number, 16).unwrap_or('0');
    ['\\', 'x', digit(sign as u32 / 16), digit(sign as u32 % 16)]
}

/// Returns the `repr` of the Python value that a JSON value is read as.
pub fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) if number.is_f64() => repr(number.as_f64().unwrap_or_default()),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(literal).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(object) => {
            let pair = |(key, value): (&String, _)| format!("{}: {}", quoted(key), literal(value));
            format!("{{{}}}", object.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Returns a float as `%g` writes it: six significant digits, no trailing zeros.
pub fn general(value: f64) -> String {
    let scientific = format!("{value:.5e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return repr(value) };
    match exponent.parse::<i32>() {
        Ok(exponent @ -4..=5) => {
            let decimals = usize::try_from(5 - exponent).unwrap_or_default();
            without_zeros(&format!("{value:.decimals$}")).to_owned()
        }
        _ => padded_exponent(&format!("{}e{exponent}", without_zeros(mantissa))),
    }
}

/// Rounds a float as Python's `round` does: it rounds the exact binary value to decimal digits, and
/// a tie to the even digit.
pub fn round(value: f64, decimals: usize) -> f64 {
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

/// Returns a value as `json.dumps` writes it, except that numbers that JSON cannot hold become
/// null.
pub fn to_string<'a>(
    value: &impl Serialize,
    style: impl Into<Style<'a>>,
) -> serde_json::Result<String> {
    let mut json = Vec::new();
    to_writer(value, style, &mut json)?;
    String::from_utf8(json).map_err(serde::ser::Error::custom)
}

/// Writes a value to `out` as [`to_string`] does. An error of the value's own serializer is
/// returned.
pub fn to_writer<'a>(
    value: &impl Serialize,
    style: impl Into<Style<'a>>,
    out: impl io::Write,
) -> serde_json::Result<()> {
    let formatter = PythonFormatter { style: style.into(), depth: 0, is_empty: true };
    value.serialize(&mut Serializer::with_formatter(out, formatter))
}

/// The number that Python writes as `Infinity`, which is not valid JSON. [`to_writer`] and
/// [`to_string`] write it the same way.
///
/// ```
/// use servemark_pyjson::{Infinity, Text, to_string};
///
/// assert_eq!(to_string(&[Infinity], Text::Ascii)?, "[Infinity]");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Infinity;

impl Serialize for Infinity {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // serde_json writes an infinite float as null without asking the formatter. No JSON of this
        // workspace has 128-bit integers, so the largest of them stands for infinity here.
        to.serialize_u128(u128::MAX)
    }
}

/// The arguments of `json.dumps`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Style<'a> {
    /// How text beyond ASCII is written.
    pub text: Text,
    /// Number of blanks by which each level is indented; everything is on one line if absent.
    pub indent: Option<usize>,
    /// Separator between two items.
    pub item_separator: &'a str,
    /// Separator between a key and its value.
    pub key_separator: &'a str,
}

impl Style<'_> {
    /// Creates a style with Python's default separators, on one line or with indented lines.
    pub fn new(text: Text, indent: Option<usize>) -> Self {
        let item_separator = if indent.is_some() { "," } else { ", " };
        Self { text, indent, item_separator, key_separator: ": " }
    }
}

impl From<Text> for Style<'_> {
    fn from(text: Text) -> Self {
        Self::new(text, None)
    }
}

/// How text beyond ASCII is written: Python's `ensure_ascii`. Closed: it is on or off.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Text {
    /// Text beyond ASCII is escaped.
    Ascii,
    /// Text beyond ASCII is written as it is.
    Unicode,
}

#[derive(Clone, Copy, Debug)]
struct PythonFormatter<'a> {
    style: Style<'a>,
    depth: usize,
    /// Whether nothing was written yet into the innermost open array or object.
    is_empty: bool,
}

impl PythonFormatter<'_> {
    fn open<W: ?Sized + io::Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.is_empty = true;
        out.write_all(bracket)
    }

    fn next<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.is_empty = false;
        if !first {
            out.write_all(self.style.item_separator.as_bytes())?;
        }
        self.break_line(out)
    }

    fn close<W: ?Sized + io::Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if !self.is_empty {
            self.break_line(out)?;
        }
        self.is_empty = false;
        out.write_all(bracket)
    }

    fn break_line<W: ?Sized + io::Write>(&self, out: &mut W) -> io::Result<()> {
        let Some(indent) = self.style.indent else { return Ok(()) };
        write!(out, "\n{:blanks$}", "", blanks = indent * self.depth)
    }
}

impl Formatter for PythonFormatter<'_> {
    fn begin_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}")
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        out.write_all(repr(value).as_bytes())
    }

    fn write_u128<W: ?Sized + io::Write>(&mut self, out: &mut W, value: u128) -> io::Result<()> {
        match value {
            u128::MAX => out.write_all(b"Infinity"),
            value => write!(out, "{value}"),
        }
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.next(out, first)
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.next(out, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(self.style.key_separator.as_bytes())
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if self.style.text == Text::Unicode {
            return out.write_all(fragment.as_bytes());
        }
        fragment.chars().try_for_each(|character| match character {
            ' '..='~' => out.write_all(&[character as u8]),
            other => write_utf16_escapes(out, other),
        })
    }

    fn write_char_escape<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        match escape {
            CharEscape::Quote => out.write_all(b"\\\""),
            CharEscape::ReverseSolidus => out.write_all(b"\\\\"),
            CharEscape::Solidus => out.write_all(b"/"),
            CharEscape::Backspace => out.write_all(b"\\b"),
            CharEscape::FormFeed => out.write_all(b"\\f"),
            CharEscape::LineFeed => out.write_all(b"\\n"),
            CharEscape::CarriageReturn => out.write_all(b"\\r"),
            CharEscape::Tab => out.write_all(b"\\t"),
            CharEscape::AsciiControl(byte) => write!(out, "\\u{byte:04x}"),
        }
    }
}

fn write_utf16_escapes<W: ?Sized + io::Write>(out: &mut W, character: char) -> io::Result<()> {
    let mut units = [0; 2];
    character.encode_utf16(&mut units).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))
}

/// Pads the exponent to two digits: `1e-7` becomes `1e-07`.
fn padded_exponent(scientific: &str) -> String {
    match scientific.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, digits) = match exponent.strip_prefix('-') {
                Some(digits) => ('-', digits),
                None => ('+', exponent),
            };
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        None => scientific.to_owned(),
    }
}

fn without_zeros(decimal: &str) -> &str {
    if !decimal.contains('.') {
        return decimal;
    }
    decimal.trim_end_matches('0').trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: f64, as_repr: &str, as_general: &str) {
        assert_eq!((repr(value).as_str(), general(value).as_str()), (as_repr, as_general));
    }

    #[test]
    fn floats_read_as_in_python() {
        check(0.0, "0.0", "0");
        check(8.0, "8.0", "8");
        check(900.5, "900.5", "900.5");
        check(0.1 + 0.2, "0.30000000000000004", "0.3");
        check(0.0001, "0.0001", "0.0001");
        check(0.000_01, "1e-05", "1e-05");
        check(1.234_567_89e-5, "1.23456789e-05", "1.23457e-05");
        check(1_234_567.0, "1234567.0", "1.23457e+06");
        check(999_999.5, "999999.5", "1e+06");
        check(1e15, "1000000000000000.0", "1e+15");
        check(1e16, "1e+16", "1e+16");
        check(1e22, "1e+22", "1e+22");
        check(-1.5e300, "-1.5e+300", "-1.5e+300");
        check(f64::INFINITY, "inf", "inf");
        check(f64::NAN, "nan", "nan");
    }

    #[test]
    fn halves_are_rounded_to_even_as_in_python() {
        let hundredths = [0.125, 0.375, 2.675, 1.005].map(|value| repr(round(value, 2)));
        assert_eq!(hundredths, ["0.12", "0.38", "2.67", "1.0"]);
        let others = [0.03125, 1.000_05, -0.000_04, 1e300, f64::INFINITY];
        let others = others.map(|value| repr(round(value, 4)));
        assert_eq!(others, ["0.0312", "1.0001", "-0.0", "1e+300", "inf"]);
    }

    #[track_caller]
    fn dumps(json: &str, text: Text, expected: &str) {
        let value: Value = serde_json::from_str(json).unwrap();
        assert_eq!(to_string(&value, text).unwrap(), expected);
    }

    #[test]
    fn separators_and_order_are_those_of_python() {
        let spaced = r#"{"b": [1, true, null], "a": {}, "c": []}"#;
        dumps(r#"{"b":[1,true,null],"a":{},"c":[]}"#, Text::Ascii, spaced);
    }

    #[test]
    fn levels_are_indented_and_what_is_empty_is_not() {
        let value = serde_json::json!({"a": [1, [], {}], "b": {"c": 1e16}});
        let indented = to_string(&value, Style::new(Text::Ascii, Some(2))).unwrap();
        let expected =
            "{\n  \"a\": [\n    1,\n    [],\n    {}\n  ],\n  \"b\": {\n    \"c\": 1e+16\n  }\n}";
        assert_eq!(indented, expected);
        let mut tight = Style::from(Text::Ascii);
        (tight.item_separator, tight.key_separator) = (",", ":");
        assert_eq!(to_string(&value, tight).unwrap(), r#"{"a":[1,[],{}],"b":{"c":1e+16}}"#);
    }

    #[test]
    fn text_beyond_ascii_is_escaped_or_not() {
        let json = r#""Zürich \u007f 🚀 \n\"\\\b\f\u001f/""#;
        dumps(json, Text::Ascii, r#""Z\u00fcrich \u007f \ud83d\ude80 \n\"\\\b\f\u001f/""#);
        dumps(json, Text::Unicode, "\"Zürich \u{7f} 🚀 \\n\\\"\\\\\\b\\f\\u001f/\"");
    }

    #[test]
    fn floats_in_json_are_written_as_repr_does() {
        dumps(
            "[1e16, 1e15, 1e-5, 0.0001, 1e22, -0.0, 1.5e-7, 5e-324, 100.0, 7]",
            Text::Ascii,
            "[1e+16, 1000000000000000.0, 1e-05, 0.0001, 1e+22, -0.0, 1.5e-07, 5e-324, 100.0, 7]",
        );
    }

    #[test]
    fn what_is_no_json_number_is_null() {
        assert_eq!(to_string(&[f64::INFINITY, f64::NAN], Text::Ascii).unwrap(), "[null, null]");
    }

    #[test]
    fn texts_are_quoted_as_python_quotes_them() {
        for (text, expected) in [
            ("plain", "'plain'"),
            ("it's", "\"it's\""),
            ("'\"", "'\\'\"'"),
            ("a\\b\n\x01é", "'a\\\\b\\n\\x01é'"),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }

    #[test]
    fn values_are_shown_as_python_shows_them() {
        let value = serde_json::json!({"b": [1e-7, 2, -3.0], "a": null, "it's": [true, false, {}]});
        let text = r#"{'b': [1e-07, 2, -3.0], 'a': None, "it's": [True, False, {}]}"#;
        assert_eq!(literal(&value), text);
    }
}
