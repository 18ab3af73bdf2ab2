//! Lines of Prometheus's text format: a name, labels in braces, a value.
//!
//! The texts of real servers have hundreds of lines that are read many times a second, so a line is
//! first cut into its key and its value, and labels are parsed only when a key is new.

use std::collections::BTreeMap;

/// A line with a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line<'a> {
    /// Name and labels as written, which identify the series.
    pub(crate) key: &'a str,
    /// Position of the value in the line.
    pub(crate) value_at: usize,
    pub(crate) value: f64,
}

/// A line of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Entry<'a> {
    Line(Line<'a>),
    /// The kind of the metric with this name: `gauge`, `counter`, `histogram` and others.
    Type(&'a str, &'a str),
}

/// Returns the entries of a text, in order. Lines of any other form are skipped.
pub(crate) fn entries(text: &str) -> impl Iterator<Item = Entry<'_>> {
    text.lines().filter_map(|line| match line.trim_start().strip_prefix('#') {
        Some(comment) => kind(comment),
        None => self::line(line).map(Entry::Line),
    })
}

fn kind(comment: &str) -> Option<Entry<'_>> {
    let mut words = comment.trim_start().strip_prefix("TYPE ")?.split_whitespace();
    Some(Entry::Type(words.next()?, words.next()?))
}

/// Returns the key and the value of a line; `None` if it has none, as a comment.
pub(crate) fn line(line: &str) -> Option<Line<'_>> {
    let start = line.len() - line.trim_start().len();
    if line[start..].starts_with('#') {
        return None;
    }
    // An exemplar of OpenMetrics follows the value.
    let metric = line[start..].split(" # ").next()?;
    let (key, rest) = match metric.rfind('}') {
        Some(end) => metric.split_at(end + 1),
        None => metric.split_at(metric.find([' ', '\t'])?),
    };
    let value_at = start + metric.len() - rest.trim_ascii_start().len();
    Some(Line { key, value_at, value: value(rest)? })
}

/// Returns the value at the beginning of what follows a key. A timestamp or an exemplar may follow.
pub(crate) fn value(rest: &str) -> Option<f64> {
    rest.split_ascii_whitespace().next()?.parse().ok()
}

impl<'a> Line<'a> {
    /// Returns the name without labels.
    pub(crate) fn name(&self) -> &'a str {
        self.key.split(['{', ' ', '\t']).next().unwrap_or(self.key)
    }

    /// Returns the labels; `None` if they are malformed.
    pub(crate) fn labels(&self) -> Option<BTreeMap<String, String>> {
        let Some(start) = self.key.find('{') else { return Some(BTreeMap::new()) };
        let mut rest = self.key[start + 1..].trim_start();
        let mut labels = BTreeMap::new();
        while !rest.starts_with('}') {
            let (name, quoted) = rest.split_once("=\"")?;
            let (value, after) = unquoted(quoted)?;
            labels.insert(name.trim().to_owned(), value);
            rest = after.trim_start().trim_start_matches(',').trim_start();
        }
        Some(labels)
    }
}

/// Splits a text at the quote that ends a value, and resolves the value's escapes.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let (mut value, mut escaped) = (String::new(), false);
    for (at, sign) in text.char_indices() {
        match (escaped, sign) {
            (true, 'n') => value.push('\n'),
            (false, '"') => return Some((value, &text[at + 1..])),
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
        assert_eq!((read.name(), read.value), (name, value), "{line}");
        let labels: BTreeMap<_, _> =
            labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(read.labels(), Some(labels), "{line}");
    }

    #[test]
    fn a_line_has_a_name_labels_and_a_value() {
        reads("up 1", "up", &[], 1.0);
        reads("  a\t1.5e3  ", "a", &[], 1500.0);
        reads("a{} 2", "a", &[], 2.0);
        reads(r#"a{b="c",d="e"} 3 1700000000"#, "a", &[("b", "c"), ("d", "e")], 3.0);
        reads(r#"a{ b="}, \"x\" \\" , } 4"#, "a", &[("b", "}, \"x\" \\")], 4.0);
        reads(r#"a_bucket{le="+Inf"} 5 # {trace="x"} 0.5"#, "a_bucket", &[("le", "+Inf")], 5.0);
        reads("a +Inf", "a", &[], f64::INFINITY);
    }

    #[test]
    fn other_lines_are_skipped() {
        for line in ["", "# HELP a b", "a", "a{b=\"c\"}", "<html><body>404</body></html>", "é x"] {
            assert_eq!(entries(line).next(), None, "{line}");
        }
        assert_eq!(entries("# TYPE a gauge").next(), Some(Entry::Type("a", "gauge")));
    }

    #[test]
    fn malformed_labels_are_no_labels() {
        for line in ["a{b} 1", "a{b=\"c} 1", "a{b=c} 1"] {
            let Some(Entry::Line(read)) = entries(line).next() else { panic!("{line}") };
            assert_eq!(read.labels(), None, "{line}");
        }
    }
}
