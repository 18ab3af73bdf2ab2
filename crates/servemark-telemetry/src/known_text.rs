//! The text that was read last, cut at its values.

use memchr::memchr;
use servemark_client::Text;

use crate::exposition::{self, Line};

/// The text of a source that was read last, with the positions of its values.
///
/// The next text of the source usually has the same lines with other values. It is compared with
/// this one up to each value that changed, which costs little more than one pass over its bytes:
/// only values that changed are parsed, and only those of lines with targets. If their lengths are
/// the same, they are written over those of this text, and the next one's memory is free for others.
///
/// A target is what the caller wants to know with a value; those of one text lie one after the other
/// in memory.
#[derive(Debug)]
pub(crate) struct KnownText<T> {
    text: Text,
    /// The values of the text, in order.
    values: Vec<ValueSpan>,
    /// The targets of all values, in order.
    targets: Vec<T>,
}

/// A value, and the text between the value before it and this one. Lengths are in bytes. All of them
/// are read with each text, so they are small.
#[derive(Clone, Copy, Debug)]
struct ValueSpan {
    /// Length of the text from the end of the value before: comments, the name and the labels.
    before: u32,
    /// Length of the value, together with everything that follows it on its line.
    length: u32,
    /// Positions of the first target and behind the last one.
    targets: (u32, u32),
}

/// Whether the values of the next text are as long as those of this one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Lengths {
    Same,
    New,
}

impl<T> Default for KnownText<T> {
    fn default() -> Self {
        Self { text: Text::default(), values: Vec::new(), targets: Vec::new() }
    }
}

impl<T: Copy> KnownText<T> {
    /// Cuts a text with these lines. `targets_of` returns the targets of the line with a key. The
    /// targets and the value of each line that has some are added to `changed`.
    pub(crate) fn of_lines<'a, Targets>(
        lines: impl Iterator<Item = &'a Line<'a>>,
        targets_of: impl Fn(&str) -> Targets,
        changed: &mut Vec<(T, f64)>,
    ) -> Self
    where
        Targets: Iterator<Item = T>,
    {
        let mut known = Self::default();
        let mut cut_to = 0;
        for line in lines {
            let first = known.targets.len();
            known.targets.extend(targets_of(line.key));
            let targets = first..known.targets.len();
            known.values.push(ValueSpan {
                before: small(line.value_at.start - cut_to),
                length: small(line.value_at.len()),
                targets: (small(targets.start), small(targets.end)),
            });
            changed.extend(known.targets[targets].iter().map(|target| (*target, line.value)));
            cut_to = line.value_at.end;
        }
        known
    }

    /// Sets the text that was cut.
    pub(crate) fn with_text(self, text: String) -> Self {
        Self { text: text.into(), ..self }
    }

    /// Returns the length of the text in bytes.
    pub(crate) fn length(&self) -> usize {
        self.text.as_bytes().len()
    }

    pub(crate) fn number_of_targets(&self) -> usize {
        self.targets.len()
    }

    /// Exchanges the text for the next one, and adds the targets and the value of each line whose
    /// value changed to `changed`. Returns false if the lines of the next text differ in more than
    /// values; then this text is empty, and `next` is as it was. Otherwise `next` has no meaning.
    pub(crate) fn replace(&mut self, next: &mut Text, changed: &mut Vec<(T, f64)>) -> bool {
        match self.take(next.as_bytes(), changed) {
            None => *self = Self::default(),
            Some(Lengths::Same) => {}
            Some(Lengths::New) => std::mem::swap(&mut self.text, next),
        }
        !self.is_empty()
    }

    /// Returns whether the text has no values.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    fn take(&mut self, next: &[u8], changed: &mut Vec<(T, f64)>) -> Option<Lengths> {
        let known = self.text.as_mut_bytes();
        // How far both texts were compared, and the number of bytes with which the rest of both
        // begins.
        let (mut at, mut next_at) = (0, 0);
        let mut same = common_prefix(known, next);
        let mut lengths = Lengths::Same;
        for span in &mut self.values {
            let (before, length) = (span.before as usize, span.length as usize);
            let end = before + length;
            // The byte behind a value is compared, too: another value may begin with this one.
            if same > end {
                (at, next_at, same) = (at + end, next_at + end, same - end);
                continue;
            }
            if same < before {
                return None;
            }
            let rest = &next[next_at + before..];
            let value = &rest[..memchr(b'\n', rest).unwrap_or(rest.len())];
            let (first, last) = span.targets;
            if first < last {
                let number = exposition::value(str::from_utf8(value).ok()?)?;
                let targets = &self.targets[first as usize..last as usize];
                changed.extend(targets.iter().map(|target| (*target, number)));
            }
            if value.len() != length {
                lengths = Lengths::New;
            }
            if lengths == Lengths::Same {
                known[at + before..at + end].copy_from_slice(value);
            }
            span.length = small(value.len());
            (at, next_at) = (at + end, next_at + before + value.len());
            same = common_prefix(&known[at..], &next[next_at..]);
        }
        (known.len() - at == same && next.len() - next_at == same).then_some(lengths)
    }
}

/// Returns a length within a text, or a number of its targets. No text has 4 GiB.
fn small(length: usize) -> u32 {
    u32::try_from(length).expect("texts have less than 4 GiB")
}

/// Returns the number of bytes with which both texts begin.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    let is_same = |(one, other): &(&[u8], &[u8])| one == other;
    let mut at = 0;
    // Long blocks are quick where little changed, short ones where each value did.
    for length in [LONG_BLOCK, SHORT_BLOCK] {
        let blocks = one[at..].chunks_exact(length).zip(other[at..].chunks_exact(length));
        at += blocks.take_while(is_same).count() * length;
    }
    at + one[at..].iter().zip(&other[at..]).take_while(|(one, other)| one == other).count()
}

/// Numbers of bytes that are compared at a time.
const LONG_BLOCK: usize = 512;
const SHORT_BLOCK: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exposition::{Entry, entries};

    /// A text with two lines that are wanted and one that is not.
    const TEXT: &str = "# TYPE a gauge\na{q=\"1\"} 3\nother 7\n  b\t4 1700000000\n# EOF\n";

    fn cut(text: &str, targets_of: impl Fn(&str) -> &'static [u32]) -> KnownText<u32> {
        let entries: Vec<Entry<'_>> = entries(text).collect();
        let lines = entries.iter().filter_map(Entry::line);
        let targets_of = |key: &str| targets_of(key).iter().copied();
        KnownText::of_lines(lines, targets_of, &mut Vec::new()).with_text(text.to_owned())
    }

    fn text_with_three_values() -> KnownText<u32> {
        cut(TEXT, |key| match key {
            "a{q=\"1\"}" => &[0],
            "b" => &[1, 2],
            _ => &[],
        })
    }

    #[test]
    fn all_values_of_a_first_text_that_are_wanted_are_new() {
        let (entries, mut changed) = (entries(TEXT).collect::<Vec<_>>(), Vec::new());
        let lines = entries.iter().filter_map(Entry::line);
        let targets_of = |key: &str| (key != "other").then_some(5).into_iter();
        KnownText::of_lines(lines, targets_of, &mut changed);
        assert_eq!(changed, [(5, 3.0), (5, 4.0)]);
    }

    #[track_caller]
    fn changes(known: &mut KnownText<u32>, next: &str, expected: Option<&[(u32, f64)]>) {
        let mut changed = Vec::new();
        let mut buffer = Text::from(next);
        let is_known = known.replace(&mut buffer, &mut changed);
        let found = is_known.then_some(changed);
        assert_eq!(found, expected.map(<[_]>::to_vec), "{next}");
        assert!(is_known || buffer.as_bytes() == next.as_bytes(), "{next}");
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
        let mut known = cut("a 1", |_| &[0]);
        changes(&mut known, "a 12", Some(&[(0, 12.0)]));
        changes(&mut known, "a 1", Some(&[(0, 1.0)]));
        changes(&mut known, "a 1\n", None);
    }

    #[test]
    fn a_text_without_values_is_empty() {
        assert!(KnownText::<u32>::default().is_empty());
        assert!(cut("<html>\n</html>", |_| &[0]).is_empty());
        assert!(!text_with_three_values().is_empty());
    }
}
