//! Parser of Prometheus's text format, in which servers report their counters.
//!
//! A line has a name, labels in braces, and a number. Comments and unknown lines are skipped.

/// A line: a number with its name and labels.
///
/// ```
/// use servemark_backends::prometheus_samples;
///
/// let text = "# HELP hits what was there\nhits_total{engine=\"0\",place=\"a b\"} 3.0 1700000000\n";
/// let sample = prometheus_samples(text).next().unwrap();
/// assert_eq!((sample.name, sample.value), ("hits_total", 3.0));
/// assert_eq!(sample.label("place"), Some("a b"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PrometheusSample<'a> {
    /// The name of the metric.
    pub name: &'a str,
    /// The text between the braces.
    labels: &'a str,
    /// The value.
    pub value: f64,
}

/// Returns the samples of a text, in order.
pub fn prometheus_samples(text: &str) -> impl Iterator<Item = PrometheusSample<'_>> {
    text.lines().map(str::trim).filter(|line| !line.starts_with('#')).filter_map(sample)
}

impl<'a> PrometheusSample<'a> {
    /// Returns the value of a label as written, with escapes.
    pub fn label(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.labels;
        loop {
            let (label, tail) = rest.split_once("=\"")?;
            let (value, tail) = until_quote(tail)?;
            if label.trim_matches([',', ' ']) == name {
                return Some(value);
            }
            rest = tail;
        }
    }
}

fn sample(line: &str) -> Option<PrometheusSample<'_>> {
    let name = &line[..line.find(['{', ' ', '\t'])?];
    let rest = &line[name.len()..];
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => inside.split_at(end_of_labels(inside)?),
        None => ("", rest),
    };
    // A timestamp may follow the value.
    let value = rest.trim_start_matches('}').split_whitespace().next()?;
    Some(PrometheusSample { name, labels, value: value.parse().ok()? })
}

/// Returns the position of the closing brace, skipping quoted values.
fn end_of_labels(inside: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let stop = at + inside[at..].find(['"', '}'])?;
        if inside[stop..].starts_with('}') {
            return Some(stop);
        }
        let (value, _) = until_quote(&inside[stop + 1..])?;
        at = stop + 1 + value.len() + 1;
    }
}

/// Splits the text at the next quote that is not escaped.
fn until_quote(text: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    let end = text.find(|sign| {
        let closes = sign == '"' && !escaped;
        escaped = sign == '\\' && !escaped;
        closes
    })?;
    Some((&text[..end], &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<(&str, f64)>) {
        let read = prometheus_samples(line).next();
        assert_eq!(read.map(|sample| (sample.name, sample.value)), expected, "{line}");
    }

    #[test]
    fn a_number_has_a_name_and_perhaps_labels() {
        check("a 1", Some(("a", 1.0)));
        check("  a\t1.5e3  ", Some(("a", 1500.0)));
        check("a{} 2", Some(("a", 2.0)));
        check("a{b=\"c\"} +Inf 1700000000", Some(("a", f64::INFINITY)));
        check("a{b=\"}\",c=\"\\\"} 9\"} 3", Some(("a", 3.0)));
    }

    #[test]
    fn what_is_no_sample_is_passed_over() {
        for line in ["", "# TYPE a counter", "a", "a{b=\"c\" 3", "a{b=\"c} 3", "a x", "é"] {
            check(line, None);
        }
    }

    #[test]
    fn labels_are_found_by_their_whole_name() {
        let text = r#"a{x_position="1", position="2",b="\"position=\"3"} 4"#;
        let sample = prometheus_samples(text).next().unwrap();
        assert_eq!(sample.label("position"), Some("2"));
        assert_eq!(sample.label("b"), Some(r#"\"position=\"3"#));
        assert_eq!(sample.label("c"), None);
    }
}
