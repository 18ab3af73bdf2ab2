//! Lines of Prometheus's text format: a name, labels in braces, a value.
//!
//! The texts of real servers have hundreds of lines that are read many times a second, so a line is
//! first cut into its key and its value, and labels are parsed only when a key is new.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use memchr::{memchr2, memchr3};

/// A line with a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line<'a> {
    /// Name without labels.
    pub(crate) name: &'a str,
    /// Name and labels as written, which identify the series.
    pub(crate) key: &'a str,
    pub(crate) value: f64,
    /// Positions in the text of the value and of everything that follows it on its line.
    pub(crate) value_at: Range<usize>,
}

/// A line of a text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry<'a> {
    Line(Line<'a>),
    /// The kind of the metric with this name: `gauge`, `counter`, `histogram` and others.
    Type(&'a str, &'a str),
}

/// Labels of a line by their names.
pub(crate) type Labels<'a> = BTreeMap<&'a str, Cow<'a, str>>;

/// Returns the entries of a text, in order. Lines of any other form are skipped.
pub(crate) fn entries(text: &str) -> impl Iterator<Item = Entry<'_>> {
    let mut line_at = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let at = line_at;
        line_at += line.len();
        let line = line.strip_suffix('\n').unwrap_or(line);
        let entry = line.trim_ascii_start();
        match entry.strip_prefix('#') {
            Some(comment) => kind(comment),
            None => self::line(entry, at + line.len() - entry.len()).map(Entry::Line),
        }
    })
}

fn kind(comment: &str) -> Option<Entry<'_>> {
    let mut words = comment.trim_ascii_start().strip_prefix("TYPE ")?.split_ascii_whitespace();
    Some(Entry::Type(words.next()?, words.next()?))
}

/// Returns the parts of a line at a position of the text; `None` if it has no value.
fn line(line: &str, at: usize) -> Option<Line<'_>> {
    let (name, rest) = line.split_at(memchr3(b'{', b' ', b'\t', line.as_bytes())?);
    let behind_key = match rest.trim_ascii_start().strip_prefix('{') {
        Some(labels) => &labels[end_of_labels(labels.as_bytes())?..],
        None => rest,
    };
    let value_on = behind_key.trim_ascii_start();
    Some(Line {
        name,
        key: &line[..line.len() - behind_key.len()],
        value: value(value_on)?,
        value_at: at + line.len() - value_on.len()..at + line.len(),
    })
}

/// Returns the position behind the brace that ends labels, which is no part of a label's value.
fn end_of_labels(labels: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr2(b'"', b'}', &labels[at..])? + 1;
        if labels[at - 1] == b'}' {
            return Some(at);
        }
        at += end_of_value(&labels[at..])?;
    }
}

/// Returns the position behind the quote that ends the value of a label.
fn end_of_value(value: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr2(b'"', b'\\', value.get(at..)?)? + 1;
        if value[at - 1] == b'"' {
            return Some(at);
        }
        // What follows a backslash is escaped.
        at += 1;
    }
}

/// Returns the value at the beginning of what follows a key. A timestamp or an exemplar may follow.
pub(crate) fn value(rest: &str) -> Option<f64> {
    rest.split_ascii_whitespace().next()?.parse().ok()
}

impl<'a> Entry<'a> {
    /// Returns the line with a value, if it is one.
    pub(crate) fn line(&self) -> Option<&Line<'a>> {
        match self {
            Self::Line(line) => Some(line),
            Self::Type(..) => None,
        }
    }
}

impl<'a> Line<'a> {
    /// Returns the labels; `None` if they are malformed.
    pub(crate) fn labels(&self) -> Option<Labels<'a>> {
        let Some(start) = self.key.find('{') else { return Some(Labels::new()) };
        let mut rest = self.key[start + 1..].trim_ascii_start();
        let mut labels = Labels::new();
        while !rest.starts_with('}') {
            let (name, quoted) = rest.split_once("=\"")?;
            let (value, after) = unquoted(quoted)?;
            labels.insert(name.trim_ascii(), value);
            rest = after.trim_ascii_start().trim_start_matches(',').trim_ascii_start();
        }
        Some(labels)
    }
}

/// Splits a text at the quote that ends a value, and resolves the value's escapes.
fn unquoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let end = text.find(['"', '\\'])?;
    if text[end..].starts_with('"') {
        return Some((Cow::Borrowed(&text[..end]), &text[end + 1..]));
    }
    let (mut value, mut escaped) = (String::new(), false);
    for (at, sign) in text.char_indices() {
        match (escaped, sign) {
            (true, 'n') => value.push('\n'),
            (false, '"') => return Some((Cow::Owned(value), &text[at + 1..])),
            (false, '\\') => {}
            (_, other) => value.push(other),
        }
        escaped = !escaped && sign == '\\';
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(line: &str, name: &str, labels: &[(&str, &str)], value: f64) {
        let Some(Entry::Line(read)) = entries(line).next() else { panic!("nothing in {line}") };
        assert_eq!((read.name, read.value), (name, value), "{line}");
        let labels: Labels<'_> =
            labels.iter().map(|(name, value)| (*name, Cow::Borrowed(*value))).collect();
        assert_eq!(read.labels(), Some(labels), "{line}");
    }

    #[test]
    fn a_line_has_a_name_labels_and_a_value() {
        reads("up 1", "up", &[], 1.0);
        reads("  a\t1.5e3  ", "a", &[], 1500.0);
        reads("a{} 2", "a", &[], 2.0);
        reads(r#"a{b="c",d="e"} 3 1700000000"#, "a", &[("b", "c"), ("d", "e")], 3.0);
        reads(r#"a{ b="}, \"x\" \\" , } 4"#, "a", &[("b", "}, \"x\" \\")], 4.0);
        reads(r#"a{b="x # {",c="\""} 4"#, "a", &[("b", "x # {"), ("c", "\"")], 4.0);
        reads(r#"a {b="c"} 3"#, "a", &[("b", "c")], 3.0);
        reads(r#"a_bucket{le="+Inf"} 5 # {trace="x"} 0.5"#, "a_bucket", &[("le", "+Inf")], 5.0);
        reads("a +Inf", "a", &[], f64::INFINITY);
    }

    #[test]
    fn other_lines_are_skipped() {
        for line in [
            "",
            "# HELP a b",
            "a",
            "a{b=\"c\"}",
            "a{b=\"c} 1",
            "<html><body>404</body></html>",
            "é x",
        ] {
            assert_eq!(entries(line).next(), None, "{line}");
        }
        assert_eq!(entries("# TYPE a gauge").next(), Some(Entry::Type("a", "gauge")));
    }

    #[test]
    fn malformed_labels_are_no_labels() {
        for line in ["a{b} 1", "a{b=c} 1"] {
            let Some(Entry::Line(read)) = entries(line).next() else { panic!("{line}") };
            assert_eq!(read.labels(), None, "{line}");
        }
    }
}
