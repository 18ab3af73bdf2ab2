//! The lines that are read from every text of a source, wherever they lie in it.

use std::ops::Range;

use memchr::{memchr, memmem, memrchr};

use crate::exposition::{self, Line};

/// Lines of a source that are read from each of its texts, while others are read now and then.
///
/// Each line is looked for where it should be, by how far the line before it has moved since the last
/// text. So texts with hundreds of lines between these are read without a pass over their bytes.
///
/// A target is what the caller wants to know with a value.
#[derive(Debug)]
pub(crate) struct FrequentLines<T> {
    lines: Vec<FrequentLine>,
    /// The starts of all lines, one after the other.
    starts: Vec<u8>,
    /// The targets of all lines, in order.
    targets: Vec<T>,
}

#[derive(Debug)]
struct FrequentLine {
    /// Where it began in the last text.
    at: usize,
    /// Positions of what precedes its value: the key and white space.
    start: Range<usize>,
    /// Its value in the last text. NaN, which an exporter writes where it knows no value, before the
    /// first one.
    value: f64,
    targets: Range<usize>,
}

impl<T> Default for FrequentLines<T> {
    fn default() -> Self {
        Self { lines: Vec::new(), starts: Vec::new(), targets: Vec::new() }
    }
}

impl<T: Copy> FrequentLines<T> {
    /// Takes these lines of a text, in order, whose targets `targets_of` returns; those without
    /// targets are left out.
    pub(crate) fn of_lines<'a, Targets>(
        text: &str,
        lines: impl Iterator<Item = &'a Line<'a>>,
        targets_of: impl Fn(&str) -> Targets,
    ) -> Self
    where
        Targets: Iterator<Item = T>,
    {
        let mut frequent = Self::default();
        for line in lines {
            let first = frequent.targets.len();
            frequent.targets.extend(targets_of(line.key));
            if first == frequent.targets.len() {
                continue;
            }
            let before_value = &text.as_bytes()[..line.value_at.start];
            let at = memrchr(b'\n', before_value).map_or(0, |end| end + 1);
            let start = frequent.starts.len();
            frequent.starts.extend_from_slice(&before_value[at..]);
            frequent.lines.push(FrequentLine {
                at,
                start: start..frequent.starts.len(),
                value: f64::NAN,
                targets: first..frequent.targets.len(),
            });
        }
        frequent
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(crate) fn number_of_targets(&self) -> usize {
        self.targets.len()
    }

    /// Reads the lines of the next text, and adds the targets and the value of each line whose value
    /// changed to `changed`. Returns false if one of them is not there or has no number.
    pub(crate) fn read(&mut self, text: &[u8], changed: &mut Vec<(T, f64)>) -> bool {
        // By how much the last line has moved.
        let mut moved = 0_isize;
        for line in &mut self.lines {
            let start = &self.starts[line.start.clone()];
            let expected = line.at.saturating_add_signed(moved);
            let Some(at) = find(text, start, expected) else { return false };
            moved = at.wrapping_sub(line.at).cast_signed();
            line.at = at;
            let rest = &text[at + start.len()..];
            let rest = &rest[..memchr(b'\n', rest).unwrap_or(rest.len())];
            let Some(value) = str::from_utf8(rest).ok().and_then(exposition::value) else {
                return false;
            };
            if value.to_bits() != line.value.to_bits() {
                line.value = value;
                let targets = self.targets[line.targets.clone()].iter();
                changed.extend(targets.map(|target| (*target, value)));
            }
        }
        true
    }
}

/// Returns the position of the line with this start: as a rule where it is expected, or close to it.
fn find(text: &[u8], start: &[u8], expected: usize) -> Option<usize> {
    let begins_line = |at: usize| at == 0 || text[at - 1] == b'\n';
    if text.get(expected..).is_some_and(|rest| rest.starts_with(start)) && begins_line(expected) {
        return Some(expected);
    }
    let near = expected.saturating_sub(NEAR)..(expected + start.len() + NEAR).min(text.len());
    [near, 0..text.len()].into_iter().find_map(|range| {
        let first = range.start;
        let mut found = memmem::find_iter(text.get(range)?, start).map(|at| first + at);
        found.find(|at| begins_line(*at))
    })
}

/// Number of bytes around the expected position that are searched first. Values between two lines
/// become longer by some digits.
const NEAR: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exposition::{Entry, entries};

    const TEXT: &str = "# TYPE a gauge\na{q=\"1\"} 3\nother{of=\"a \"} 7\n  b\t4 1700000000\na 1\n";

    /// Takes the lines of a text whose key has a target.
    fn frequent(text: &str) -> FrequentLines<u32> {
        let entries: Vec<Entry<'_>> = entries(text).collect();
        let lines = entries.iter().filter_map(Entry::line);
        FrequentLines::of_lines(text, lines, |key| {
            let targets: &[u32] = match key {
                "a{q=\"1\"}" => &[0],
                "b" => &[1, 2],
                "a" => &[3],
                _ => &[],
            };
            targets.iter().copied()
        })
    }

    #[track_caller]
    fn changes(frequent: &mut FrequentLines<u32>, text: &str, expected: Option<&[(u32, f64)]>) {
        let mut changed = Vec::new();
        let found = frequent.read(text.as_bytes(), &mut changed).then_some(changed);
        assert_eq!(found, expected.map(<[_]>::to_vec), "{text}");
    }

    #[test]
    fn values_that_changed_are_returned() {
        let mut lines = frequent(TEXT);
        assert_eq!((lines.len(), lines.number_of_targets()), (3, 4));
        changes(&mut lines, TEXT, Some(&[(0, 3.0), (1, 4.0), (2, 4.0), (3, 1.0)]));
        changes(&mut lines, TEXT, Some(&[]));
        let next = TEXT.replace(" 3", " 12.5");
        changes(&mut lines, &next, Some(&[(0, 12.5)]));
        changes(&mut lines, &next.replace("b\t4", "b\t1e3"), Some(&[(1, 1000.0), (2, 1000.0)]));
        changes(&mut lines, TEXT, Some(&[(0, 3.0), (1, 4.0), (2, 4.0)]));
    }

    #[test]
    fn lines_are_found_wherever_they_are() {
        let mut lines = frequent(TEXT);
        changes(&mut lines, TEXT, Some(&[(0, 3.0), (1, 4.0), (2, 4.0), (3, 1.0)]));
        let long = format!("other {}\n", "9".repeat(1000));
        for text in [
            TEXT.replace("of=\"a \"} 7", "of=\"a \"} 777777777"),
            TEXT.replace("other", &format!("{long}other")),
            "a{q=\"1\"} 3\n".to_owned() + &TEXT.replace("a{q=\"1\"} 3\n", ""),
            "a 1\n  b\t4\na{q=\"1\"} 3".to_owned(),
            TEXT.to_owned(),
        ] {
            changes(&mut lines, &text, Some(&[]));
        }
        changes(&mut lines, "a 2\n  b\t4\na{q=\"1\"} 3", Some(&[(3, 2.0)]));
    }

    #[test]
    fn a_line_that_is_missing_or_has_no_number_is_noticed() {
        for text in [
            String::new(),
            TEXT.replace("a 1\n", ""),
            TEXT.replace("\na 1\n", "\n# a 1\n"),
            TEXT.replace("q=\"1\"", "q=\"2\""),
            TEXT.replace(" 3", " busy"),
            TEXT.replace("a 1\n", "a \n"),
        ] {
            changes(&mut frequent(TEXT), &text, None);
        }
        let mut lines = frequent(TEXT);
        assert!(!lines.read(b"\xff\xfe", &mut Vec::new()));
    }
}
