//! Splits bytes into lines: newline-delimited JSON and other bodies whose lines stand alone.

use std::fmt;

use memchr::memchr;

use crate::error::{FeedError, TooLong, check_length};
use crate::event::Text;

/// A parser of one body of lines.
///
/// A line ends with a line feed; a carriage return before it belongs to the line end. Lines of only
/// white space are left out, because newline-delimited JSON gives them no meaning. Reads may be
/// split anywhere: the lines depend only on the bytes.
///
/// ```
/// let mut lines = servemark_sse::LineParser::new();
/// let mut seen = Vec::new();
/// for read in [&b"{\"n\":1}\n{\"n\""[..], b":2}\r\n\r\n{\"n\":3}"] {
///     lines.feed(read, |line| {
///         seen.push(line.to_vec());
///         Ok::<(), std::convert::Infallible>(())
///     })?;
/// }
/// assert_eq!(seen, [b"{\"n\":1}", b"{\"n\":2}"]);
/// assert_eq!(lines.finish(), Some(&b"{\"n\":3}"[..]));
/// # Ok::<(), servemark_sse::FeedError<std::convert::Infallible>>(())
/// ```
pub struct LineParser {
    /// The start of a line whose end has not been read yet.
    open_line: Vec<u8>,
    limit: usize,
}

impl LineParser {
    /// Creates a parser that buffers lines of any length.
    pub fn new() -> Self {
        Self::with_limit(usize::MAX)
    }

    /// Creates a parser that refuses a line longer than `bytes`, its line feed not counted.
    ///
    /// Whether a body is refused does not depend on how it is split into reads.
    pub fn with_limit(bytes: usize) -> Self {
        Self { open_line: Vec::new(), limit: bytes }
    }

    /// Feeds the bytes of one read and calls `on_line` for every line that they complete.
    ///
    /// # Errors
    ///
    /// [`FeedError::Event`] returns the error of `on_line`; [`FeedError::TooLong`] says that the
    /// limit was exceeded. In both cases the rest of the read is lost, so drop the parser.
    pub fn feed<E>(
        &mut self,
        bytes: &[u8],
        mut on_line: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), FeedError<E>> {
        let Some(end) = memchr(b'\n', bytes) else { return Ok(self.hold(bytes)?) };
        let (first, mut rest) = (&bytes[..end], &bytes[end + 1..]);
        if self.open_line.is_empty() {
            end_line(first, self.limit, &mut on_line)?;
        } else {
            self.hold(first)?;
            end_line(&self.open_line, self.limit, &mut on_line)?;
            self.open_line.clear();
        }
        while let Some(end) = memchr(b'\n', rest) {
            end_line(&rest[..end], self.limit, &mut on_line)?;
            rest = &rest[end + 1..];
        }
        Ok(self.hold(rest)?)
    }

    /// Ends the body and returns the last line if it has no line end.
    pub fn finish(&self) -> Option<&[u8]> {
        let line = without_carriage_return(&self.open_line);
        (!line.trim_ascii().is_empty()).then_some(line)
    }

    /// Returns the number of bytes held of the line whose end has not been read yet.
    pub fn held_bytes(&self) -> usize {
        self.open_line.len()
    }

    fn hold(&mut self, piece: &[u8]) -> Result<(), TooLong> {
        check_length(self.open_line.len().saturating_add(piece.len()), self.limit)?;
        self.open_line.extend_from_slice(piece);
        Ok(())
    }
}

impl Default for LineParser {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LineParser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineParser")
            .field("open_line", &Text(&self.open_line))
            .finish_non_exhaustive()
    }
}

fn end_line<E>(
    line: &[u8],
    limit: usize,
    on_line: &mut impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), FeedError<E>> {
    check_length(line.len(), limit)?;
    let line = without_carriage_return(line);
    if line.trim_ascii().is_empty() {
        return Ok(());
    }
    on_line(line).map_err(FeedError::Event)
}

fn without_carriage_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
