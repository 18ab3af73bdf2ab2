//! The text in which servers tell Prometheus what they have counted.
//!
//! A line of it is a name, labels between braces, and a number. Comments are passed over, and so is
//! a line that is none of ours to understand.

/// One line: a number with its name and labels.
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
    /// What is counted.
    pub name: &'a str,
    /// What is between the braces.
    labels: &'a str,
    /// How much of it.
    pub value: f64,
}

/// The samples of a text, in its order.
pub fn prometheus_samples(text: &str) -> impl Iterator<Item = PrometheusSample<'_>> {
    text.lines().map(str::trim).filter(|line| !line.starts_with('#')).filter_map(sample)
}

impl<'a> PrometheusSample<'a> {
    /// The value of a label as it is written, escapes and all.
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
    // What may follow the number is the time at which it was true.
    let value = rest.trim_start_matches('}').split_whitespace().next()?;
    Some(PrometheusSample { name, labels, value: value.parse().ok()? })
}

/// Where the brace closes that is in no value.
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

/// The text before the next quote that no backslash escapes, and the text after it.
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
