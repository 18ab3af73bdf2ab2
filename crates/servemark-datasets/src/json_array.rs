//! Reads the elements of a file that is one JSON array. The file is read in blocks, so that memory
//! use does not grow with its size. The meaning of the elements is left to the caller.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use serde_json::Value;
use servemark_core::{DatasetError, NoProgress, Progress, Task, parallel};

use crate::text_file::MOST_ROW_BYTES;
use crate::{python_json, text_file};

/// Passes each element to `take`, on all cores, and collects the results. `take` may return `None`
/// to skip an element; its error is reported with the line in which the element begins.
pub(crate) fn read<T: Send>(
    path: &Path,
    progress: &dyn Progress,
    take: impl Fn(Value) -> Result<Option<T>, String> + Sync,
) -> Result<Vec<T>, DatasetError> {
    let unreadable = |source| DatasetError::Read { path: path.to_owned(), source };
    let malformed = |Fault { line, reason }| text_file::malformed(path, line, reason);
    let mut file = File::open(path).map_err(unreadable)?;
    let blocks = file.metadata().map_err(unreadable)?.len().div_ceil(BLOCK);
    let task = Task::begin(progress, "reading conversations", blocks);
    let (mut splitter, mut block, mut taken) = (Splitter::default(), Vec::new(), Vec::new());
    while file.by_ref().take(BLOCK).read_to_end(&mut block).map_err(unreadable)? > 0 {
        let elements = splitter.feed(&block);
        for made in parallel::map("", &elements, &NoProgress, |element| element.take(&take)) {
            taken.extend(made.map_err(malformed)?);
        }
        block.clear();
        task.advance(1);
    }
    splitter.end().map_err(malformed)?;
    Ok(taken)
}

/// Returns an error if a file does not begin as an array. A file that cannot be read passes.
pub(crate) fn check_beginning(path: &Path) -> Result<(), DatasetError> {
    let Some(block) = text_file::first_bytes(path) else { return Ok(()) };
    let mut splitter = Splitter::default();
    splitter.feed(&block);
    match splitter.stage {
        ArrayState::Broken(Fault { line, reason }) => Err(text_file::malformed(path, line, reason)),
        _ => Ok(()),
    }
}

/// Returns whether the first non-blank byte of a file is `[`.
pub(crate) fn begins(path: &Path) -> Result<bool, DatasetError> {
    let unreadable = |source| DatasetError::Read { path: path.to_owned(), source };
    let file = BufReader::new(File::open(path).map_err(unreadable)?);
    let first = file.bytes().find(|byte| !matches!(byte, Ok(byte) if byte.is_ascii_whitespace()));
    Ok(first.transpose().map_err(unreadable)? == Some(b'['))
}

/// One element of the array, not yet parsed.
#[derive(Debug, Eq, PartialEq)]
struct Element {
    /// One-based line in which the element begins.
    line: usize,
    text: Vec<u8>,
}

/// A fault and the one-based line in which it lies.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Fault {
    line: usize,
    reason: String,
}

impl Element {
    fn take<T>(
        &self,
        take: &impl Fn(Value) -> Result<Option<T>, String>,
    ) -> Result<Option<T>, Fault> {
        take(self.value()?).map_err(|reason| Fault { line: self.line, reason })
    }

    fn value(&self) -> Result<Value, Fault> {
        if self.text.len() > MOST_ROW_BYTES {
            return Err(Fault { line: self.line, reason: too_long() });
        }
        let text = std::str::from_utf8(&self.text).map_err(|error| {
            let lines = self.text[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n');
            Fault { line: self.line + lines.count(), reason: "not UTF-8".to_owned() }
        })?;
        python_json::parse(text).map_err(|error| Fault {
            line: self.line + error.line().saturating_sub(1),
            reason: python_json::without_line(&error),
        })
    }
}

/// Splits an array into its elements without parsing them.
#[derive(Debug, Default)]
struct Splitter {
    stage: ArrayState,
    /// Number of complete lines.
    lines: usize,
    /// The element being read, if one has begun.
    element: Option<Element>,
    /// Number of open brackets in that element.
    depth: usize,
    quoted: Quoted,
    /// Number of complete elements.
    elements: usize,
}

#[derive(Debug, Default)]
enum ArrayState {
    /// Before the opening bracket.
    #[default]
    Before,
    Inside,
    /// After the closing bracket.
    Behind,
    Broken(Fault),
}

/// Position of a byte relative to a JSON string.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Quoted {
    #[default]
    No,
    Yes,
    /// After a backslash in a string.
    Escaped,
}

impl Quoted {
    fn behind(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::No, b'"') | (Self::Escaped, _) => Self::Yes,
            (Self::Yes, b'"') => Self::No,
            (Self::Yes, b'\\') => Self::Escaped,
            (same, _) => same,
        }
    }
}

/// Role of a byte in the array.
enum ArrayPosition {
    Within,
    Between,
    End,
}

impl Splitter {
    /// Returns the elements that end in `block`.
    fn feed(&mut self, block: &[u8]) -> Vec<Element> {
        let mut ended = Vec::new();
        let mut start = 0;
        for (at, byte) in block.iter().copied().enumerate() {
            match self.place(byte) {
                ArrayPosition::Within => {}
                ArrayPosition::Between => start = at + 1,
                ArrayPosition::End => {
                    ended.extend(self.finish(&block[start..at]));
                    start = at + 1;
                }
            }
            self.lines += usize::from(byte == b'\n');
        }
        if let Some(element) = &mut self.element {
            element.text.extend_from_slice(&block[start..]);
            if element.text.len() > MOST_ROW_BYTES {
                let (line, reason) = (element.line, too_long());
                self.element = None;
                self.stage = ArrayState::Broken(Fault { line, reason });
            }
        }
        ended
    }

    /// Returns the fault of the whole input, if any, after the last block.
    fn end(self) -> Result<(), Fault> {
        let line = self.lines + 1;
        let reason = match (self.stage, self.element) {
            (ArrayState::Behind, _) => return Ok(()),
            (ArrayState::Broken(fault), _) => return Err(fault),
            (ArrayState::Before, _) => NO_ARRAY,
            (ArrayState::Inside, None) => UNCLOSED,
            (ArrayState::Inside, Some(element)) => {
                element.value()?;
                UNCLOSED
            }
        };
        Err(Fault { line, reason: reason.to_owned() })
    }

    fn place(&mut self, byte: u8) -> ArrayPosition {
        let is_blank = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        match self.stage {
            ArrayState::Inside => return self.place_inside(byte, is_blank),
            ArrayState::Before if byte == b'[' => self.stage = ArrayState::Inside,
            ArrayState::Before if byte == b'{' => self.fail(OBJECT),
            ArrayState::Before if !is_blank => self.fail(NO_ARRAY),
            ArrayState::Behind if !is_blank => self.fail("there is more behind the array"),
            ArrayState::Before | ArrayState::Behind | ArrayState::Broken(_) => {}
        }
        ArrayPosition::Between
    }

    fn place_inside(&mut self, byte: u8, is_blank: bool) -> ArrayPosition {
        let is_bare = self.quoted == Quoted::No;
        if is_bare && self.depth == 0 && matches!(byte, b',' | b']') {
            if byte == b']' {
                self.stage = ArrayState::Behind;
            }
            return ArrayPosition::End;
        }
        if is_bare && is_blank && self.element.is_none() {
            return ArrayPosition::Between;
        }
        if is_bare {
            match byte {
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.quoted = self.quoted.behind(byte);
        let begun = || Element { line: self.lines + 1, text: Vec::new() };
        self.element.get_or_insert_with(begun);
        ArrayPosition::Within
    }

    /// Completes the current element with its `last` bytes. Returns `None` if there is no element,
    /// which is an error except in an empty array.
    fn finish(&mut self, last: &[u8]) -> Option<Element> {
        let Some(mut element) = self.element.take() else {
            if self.elements > 0 || matches!(self.stage, ArrayState::Inside) {
                self.fail("a value is missing before the comma or the bracket");
            }
            return None;
        };
        element.text.extend_from_slice(last);
        self.elements += 1;
        Some(element)
    }

    fn fail(&mut self, reason: &str) {
        self.stage = ArrayState::Broken(Fault { line: self.lines + 1, reason: reason.to_owned() });
    }
}

/// Number of bytes of the file held at a time.
const BLOCK: u64 = 16 << 20;

const NO_ARRAY: &str = "expected a JSON array";
const OBJECT: &str = "expected a JSON array, got an object; a file with one object per line is read by \
                      the data set custom or openai";
/// Returns the error message for an element above the size limit.
fn too_long() -> String {
    format!("a row of more than {MOST_ROW_BYTES} bytes, which is the limit")
}

const UNCLOSED: &str = "the JSON array is not closed";

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that every way to cut `text` in two gives the same elements.
    #[track_caller]
    fn splits(text: &str, expected: &[(usize, &str)], end: Result<(), (usize, &str)>) {
        for cut in 0..=text.len() {
            let (first, second) = text.as_bytes().split_at(cut);
            let mut splitter = Splitter::default();
            let mut elements = splitter.feed(first);
            elements.extend(splitter.feed(second));
            let found = elements
                .iter()
                .map(|element| (element.line, std::str::from_utf8(&element.text).unwrap().trim()));
            assert!(found.eq(expected.iter().copied()), "{elements:?}");
            let end = end.map_err(|(line, reason)| Fault { line, reason: reason.to_owned() });
            assert_eq!(splitter.end(), end);
        }
    }

    #[test]
    fn elements_are_what_stands_between_commas() {
        splits("[]", &[], Ok(()));
        splits(" [ \n ] \n", &[], Ok(()));
        splits("[1, \"a\",null]", &[(1, "1"), (1, "\"a\""), (1, "null")], Ok(()));
        let nested = "[\n{\"a\": [1,\n{}]},\n\n[\"],\\\"}\", 2] ]";
        splits(nested, &[(2, "{\"a\": [1,\n{}]}"), (5, "[\"],\\\"}\", 2]")], Ok(()));
    }

    #[test]
    fn what_is_no_array_is_told_with_its_line() {
        splits("", &[], Err((1, NO_ARRAY)));
        splits("\n{}", &[], Err((2, OBJECT)));
        splits("\n3", &[], Err((2, NO_ARRAY)));
        splits("[1,\n2", &[(1, "1")], Err((2, UNCLOSED)));
        splits("[", &[], Err((1, UNCLOSED)));
        splits("[1]\nx", &[(1, "1")], Err((2, "there is more behind the array")));
        let missing = "a value is missing before the comma or the bracket";
        splits("[1,\n]", &[(1, "1")], Err((2, missing)));
        splits("[,1]", &[], Err((1, missing)));
    }

    #[test]
    fn an_element_that_swallows_the_bracket_is_itself_to_blame() {
        let broken = "key must be a string at column 2";
        splits("[1,\n{broken\n]", &[(1, "1")], Err((2, broken)));
    }
}
