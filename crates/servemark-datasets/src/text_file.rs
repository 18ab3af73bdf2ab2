//! Text files, with errors that name the line. The meaning of the text is left to the caller.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use servemark_core::DatasetError;

/// Reads a whole file as UTF-8 text.
pub(crate) fn read(path: &Path) -> Result<String, DatasetError> {
    let read = |source| DatasetError::Read { path: path.to_owned(), source };
    text_of(path, fs::read(path).map_err(read)?)
}

fn text_of(path: &Path, bytes: Vec<u8>) -> Result<String, DatasetError> {
    String::from_utf8(bytes).map_err(|error| {
        let readable =
            String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        malformed(path, line_at(&readable, readable.len()), "not UTF-8".to_owned())
    })
}

/// The beginning of a file.
pub(crate) struct Beginning {
    pub(crate) text: String,
    /// Whether the file is longer than this beginning.
    pub(crate) is_cut: bool,
}

/// Reads the beginning of a file as UTF-8 text. Returns `None` if it cannot be read.
pub(crate) fn beginning(path: &Path) -> Result<Option<Beginning>, DatasetError> {
    let Some(mut bytes) = first_bytes(path) else { return Ok(None) };
    let is_cut = bytes.len() as u64 == BEGINNING;
    let end = match str::from_utf8(&bytes) {
        // The last character may be cut, too.
        Err(error) if is_cut && error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    bytes.truncate(end);
    text_of(path, bytes).map(|text| Some(Beginning { text, is_cut }))
}

/// Reads the first bytes of a file; `None` if it cannot be read.
pub(crate) fn first_bytes(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut bytes)).ok()?;
    Some(bytes)
}

/// Number of bytes that show how a file begins.
const BEGINNING: u64 = 4096;

/// Returns the non-blank lines with their one-based numbers, stripped of surrounding whitespace.
///
/// Lines end as in Python's text mode, at `\n`, `\r\n` or `\r`, and at no other Unicode separator.
/// Numbers count `\n` only.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text
        .split('\n')
        .enumerate()
        .flat_map(|(index, line)| line.split('\r').map(move |line| (index + 1, strip(line))));
    lines.filter(|(_, line)| !line.is_empty())
}

/// Returns the one-based line of the byte at `offset`.
pub(crate) fn line_at(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// Returns the one-based line in which `part`, a slice of `text`, begins.
pub(crate) fn line_of(part: &str, text: &str) -> usize {
    line_at(text, part.as_ptr().addr() - text.as_ptr().addr())
}

/// Returns the error for a line that the data set cannot use.
pub(crate) fn malformed(path: &Path, line: usize, reason: String) -> DatasetError {
    DatasetError::Malformed { path: path.to_owned(), line, reason }
}

/// Returns an error if a row is so long that its values would take gigabytes.
pub(crate) fn check_row(path: &Path, line: usize, bytes: usize) -> Result<(), DatasetError> {
    if bytes > MOST_ROW_BYTES {
        let why = format!("a row of more than {MOST_ROW_BYTES} bytes, which is the limit");
        return Err(malformed(path, line, why));
    }
    Ok(())
}

/// Maximum size of a row in bytes. Rows with images take a few megabytes; parsed values take up to
/// ten times the size of their text.
pub(crate) const MOST_ROW_BYTES: usize = 64 << 20;

/// Strips a line as Python's `str.strip` does, which also strips the four ASCII separator
/// characters (`\x1c` to `\x1f`).
fn strip(line: &str) -> &str {
    line.trim_matches(|c: char| c.is_whitespace() || ('\x1c'..='\x1f').contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_and_are_stripped_as_in_python() {
        let text = "\u{a0}one\u{2003}\r\n\r\n\x1ctwo\u{2028}a\r  three \n\n\nfour";
        let expected = [(1, "one"), (3, "two\u{2028}a"), (3, "three"), (6, "four")];
        assert!(lines(text).eq(expected), "{:?}", lines(text).collect::<Vec<_>>());
    }

    #[test]
    fn a_place_has_a_line() {
        assert_eq!((line_at("a\nb\nc", 1), line_at("a\nb\nc", 4)), (1, 3));
    }
}
