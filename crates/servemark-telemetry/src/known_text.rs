//! The text that was read last, cut at its values.

use std::ops::Range;

use crate::exposition;

/// The text of a source that was read last, with the positions of its values.
///
/// The next text of the source usually has the same lines with other values. It is compared with
/// this one piece by piece, which costs little more than one pass over its bytes: only values that
/// changed are parsed, and only those of lines with targets. A target is what the caller wants to
/// know with a value; those of one text lie one after the other in memory.
#[derive(Debug)]
pub(crate) struct KnownText<T> {
    text: String,
    /// The values of the text, in order.
    values: Vec<ValueSpan>,
    /// The targets of all values, in order.
    targets: Vec<T>,
}

/// A value, and the text between the value before it and this one. Lengths are in bytes.
#[derive(Clone, Copy, Debug)]
struct ValueSpan {
    /// Length of the text from the end of the value before: comments, the name and the labels.
    before: usize,
    /// Length of the value, together with everything that follows it on its line.
    length: usize,
    /// Positions of the first target and behind the last one.
    targets: (usize, usize),
}

impl<T> Default for KnownText<T> {
    fn default() -> Self {
        Self { text: String::new(), values: Vec::new(), targets: Vec::new() }
    }
}

impl<T: Copy> KnownText<T> {
    /// Cuts a text. `targets_of` returns the targets of the line with a key.
    pub(crate) fn new<'a>(text: String, targets_of: impl Fn(&str) -> &'a [T]) -> Self
    where
        T: 'a,
    {
        let (mut values, mut targets) = (Vec::new(), Vec::new());
        let (mut line_at, mut cut_to) = (0, 0);
        for line in text.split_inclusive('\n') {
            let end = line_at + line.strip_suffix('\n').unwrap_or(line).len();
            if let Some(line) = exposition::line(&text[line_at..end]) {
                let (value_at, first) = (line_at + line.value_at, targets.len());
                targets.extend_from_slice(targets_of(line.key));
                values.push(ValueSpan {
                    before: value_at - cut_to,
                    length: end - value_at,
                    targets: (first, targets.len()),
                });
                cut_to = end;
            }
            line_at += line.len();
        }
        Self { text, values, targets }
    }

    /// Returns the targets at positions that [`replace`](Self::replace) returned.
    pub(crate) fn targets(&self, positions: Range<usize>) -> &[T] {
        &self.targets[positions]
    }

    /// Replaces the text by the next one, and adds the positions of the targets and the value of
    /// each line whose value changed to `changed`. Returns the next text if its lines differ in more than values;
    /// then this text is empty.
    pub(crate) fn replace(
        &mut self,
        next: String,
        changed: &mut Vec<(Range<usize>, f64)>,
    ) -> Result<(), String> {
        if self.take(&next, changed).is_none() {
            *self = Self::default();
            return Err(next);
        }
        self.text = next;
        Ok(())
    }

    /// Returns whether the text has no values.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    fn take(&mut self, next: &str, changed: &mut Vec<(Range<usize>, f64)>) -> Option<()> {
        let (mut before, mut after) = (self.text.as_bytes(), next.as_bytes());
        for span in &mut self.values {
            let (same, rest) = before.split_at(span.before);
            after = after.strip_prefix(same)?;
            let (value, rest) = rest.split_at(span.length);
            before = rest;
            if let Some(rest) = after.strip_prefix(value)
                && matches!(rest.first(), None | Some(b'\n'))
            {
                after = rest;
                continue;
            }
            span.length = after.iter().position(|byte| *byte == b'\n').unwrap_or(after.len());
            let (first, end) = span.targets;
            if first < end {
                let at = next.len() - after.len();
                changed.push((first..end, exposition::value(&next[at..at + span.length])?));
            }
            after = &after[span.length..];
        }
        (before == after).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text with two lines that are wanted and one that is not.
    const TEXT: &str = "# TYPE a gauge\na{q=\"1\"} 3\nother 7\n  b\t4 1700000000\n# EOF\n";

    fn text_with_three_values() -> KnownText<u32> {
        KnownText::new(TEXT.to_owned(), |key| match key {
            "a{q=\"1\"}" => &[0],
            "b" => &[1, 2],
            _ => &[],
        })
    }

    #[track_caller]
    fn changes(known: &mut KnownText<u32>, next: &str, expected: Option<&[(u32, f64)]>) {
        let mut changed = Vec::new();
        let replaced = known.replace(next.to_owned(), &mut changed);
        let of_line = |(positions, value): (Range<usize>, f64)| {
            let targets = known.targets(positions).iter();
            targets.map(move |target| (*target, value)).collect::<Vec<_>>()
        };
        let found = replaced.map(|()| changed.into_iter().flat_map(of_line).collect::<Vec<_>>());
        assert_eq!(found, expected.map(<[_]>::to_vec).ok_or_else(|| next.to_owned()), "{next}");
    }

    #[test]
    fn only_values_that_changed_and_are_wanted_are_returned() {
        let mut known = text_with_three_values();
        changes(&mut known, TEXT, Some(&[]));
        let next = TEXT.replace(" 3", " 12.5").replace("other 7", "other 8");
        changes(&mut known, &next, Some(&[(0, 12.5)]));
        let later = next.replace("12.5", "1").replace("4 17000", "1e3 18000");
        changes(&mut known, &later, Some(&[(0, 1.0), (1, 1000.0), (2, 1000.0)]));
        changes(&mut known, &later, Some(&[]));
        let longer = later.replace("1\nother", "10\nother");
        changes(&mut known, &longer, Some(&[(0, 10.0)]));
        changes(&mut known, &longer.replace("1e3", "busy"), None);
    }

    #[test]
    fn other_lines_are_another_text() {
        for next in [
            "",
            &TEXT.replace("q=\"1\"", "q=\"2\""),
            &TEXT.replace("other 7\n", ""),
            &TEXT.replace("other 7", "other 7\nnew 1"),
            &TEXT.replace("# EOF\n", ""),
            &format!("{TEXT}c 1\n"),
            &TEXT.replace(" 3", " busy"),
            &TEXT.replace(" 3", " "),
        ] {
            changes(&mut text_with_three_values(), next, None);
        }
    }

    /// The end of the last line may be missing, and no value may be taken for a longer one.
    #[test]
    fn a_value_ends_with_its_line() {
        let mut known = KnownText::new("a 1".to_owned(), |_| &[0]);
        changes(&mut known, "a 12", Some(&[(0, 12.0)]));
        changes(&mut known, "a 1", Some(&[(0, 1.0)]));
        changes(&mut known, "a 1\n", None);
    }

    #[test]
    fn a_text_without_values_is_empty() {
        assert!(KnownText::<u32>::default().is_empty());
        assert!(KnownText::new("<html>\n</html>".to_owned(), |_| &[0]).is_empty());
        assert!(!text_with_three_values().is_empty());
    }
}
