//! Splits bytes into lines, and turns lines into events.
//!
//! The parser finds line ends, carries a line that a read split over to the next read, and drops
//! the leading byte-order mark. The `block` module interprets the lines.

use std::fmt;

use memchr::memchr2;

use crate::block::{Block, PendingFields};
use crate::error::{FeedError, TooLong, check_length};
use crate::event::{Event, Text, Unfinished};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A parser of one event stream.
///
/// Reads may be split anywhere: the events depend only on the bytes. Use a new parser for every
/// stream; a parser that never had to copy has no allocated memory.
///
/// ```
/// let mut parser = servemark_sse::Parser::new();
/// let mut texts = Vec::new();
/// let outcome = parser.feed(b"data: one\n\ndata: two\n\n", |event| {
///     texts.push(event.data().to_vec());
///     if event.data() == b"one" { Ok(()) } else { Err("one is enough") }
/// });
/// assert_eq!(outcome, Err(servemark_sse::FeedError::Event("one is enough")));
/// assert_eq!(texts, [b"one", b"two"]);
/// ```
pub struct Parser {
    /// The start of a line whose end has not been read yet.
    pub(crate) open_line: Vec<u8>,
    pub(crate) kept: PendingFields,
    /// Whether the last byte was a carriage return, so that a following line feed belongs to it.
    after_carriage_return: bool,
    /// Whether no line has ended yet, so that the current one may begin with a byte-order mark.
    on_first_line: bool,
    limit: usize,
}

impl Parser {
    /// Creates a parser that buffers lines and events of any length.
    pub fn new() -> Self {
        Self::with_limit(usize::MAX)
    }

    /// Creates a parser that refuses a line, or the joined data of one event, longer than `bytes`.
    ///
    /// Whether a stream is refused does not depend on how it is split into reads.
    pub fn with_limit(bytes: usize) -> Self {
        Self {
            open_line: Vec::new(),
            kept: PendingFields::default(),
            after_carriage_return: false,
            on_first_line: true,
            limit: bytes,
        }
    }

    /// Feeds the bytes of one read and calls `on_event` for every event that they complete.
    ///
    /// # Errors
    ///
    /// [`FeedError::Event`] returns the error of `on_event`; [`FeedError::TooLong`] says that the
    /// limit was exceeded. In both cases the rest of the read is lost, so drop the parser.
    pub fn feed<E>(
        &mut self,
        bytes: &[u8],
        mut on_event: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), FeedError<E>> {
        let rest = self.skip_split_line_feed(bytes);
        let Some((first, mut rest)) = split_line(rest) else { return Ok(self.hold_open(rest)?) };
        let first = complete_line(&mut self.open_line, first);
        // The mark counts here because it counts in `hold_open`: splits must not change the result.
        check_length(first.len(), self.limit)?;
        let first = strip_byte_order_mark(first, self.on_first_line);
        self.on_first_line = false;

        let mut block = Block::new(&mut self.kept, self.limit);
        end_line(&mut block, first, &mut on_event)?;
        while let Some((line, after)) = split_line(rest) {
            end_line(&mut block, line, &mut on_event)?;
            rest = after;
        }
        block.keep();
        self.open_line.clear();
        Ok(self.hold_open(rest)?)
    }

    /// Ends the stream and returns what the grammar discards: the lines after the last blank line.
    ///
    /// `None` if the stream ended cleanly: no data line is pending and no line is open.
    pub fn finish(&mut self) -> Option<Unfinished<'_>> {
        let open_line = self.open_line.as_slice();
        let line = strip_byte_order_mark(open_line, self.on_first_line);
        let mut block = Block::new(&mut self.kept, usize::MAX);
        if !line.is_empty() {
            block.line(line).ok()?;
        }
        let event = block.into_event();
        (event.is_some() || !line.is_empty()).then_some(Unfinished { event, open_line: line })
    }

    /// Returns the number of bytes held of the line whose end has not been read yet, and of the
    /// fields of the event that is not complete.
    pub fn held_bytes(&self) -> usize {
        self.open_line.len() + self.kept.bytes()
    }

    /// Returns the number of comment lines that were read; servers send them to keep the connection
    /// open.
    pub fn comments(&self) -> u64 {
        self.kept.comments
    }

    /// Returns the id that the last `id:` line set, which outlives its event.
    pub fn last_event_id(&self) -> &[u8] {
        &self.kept.last_id
    }

    /// Returns the reconnection time in milliseconds that the last `retry:` line set.
    pub fn retry(&self) -> Option<u64> {
        self.kept.retry
    }

    fn skip_split_line_feed<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let Some(last) = bytes.last() else { return bytes };
        let after_carriage_return = self.after_carriage_return;
        self.after_carriage_return = *last == b'\r';
        if after_carriage_return { bytes.strip_prefix(b"\n").unwrap_or(bytes) } else { bytes }
    }

    fn hold_open(&mut self, piece: &[u8]) -> Result<(), TooLong> {
        check_length(self.open_line.len().saturating_add(piece.len()), self.limit)?;
        self.open_line.extend_from_slice(piece);
        Ok(())
    }
}

impl Default for Parser {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Parser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parser")
            .field("open_line", &Text(&self.open_line))
            .field("data", &Text(&self.kept.data))
            .finish_non_exhaustive()
    }
}

fn end_line<'a, E>(
    block: &mut Block<'_, 'a>,
    line: &'a [u8],
    on_event: &mut impl FnMut(Event<'_>) -> Result<(), E>,
) -> Result<(), FeedError<E>> {
    if !line.is_empty() {
        return Ok(block.line(line)?);
    }
    let outcome = block.event().map_or(Ok(()), on_event);
    block.clear();
    outcome.map_err(FeedError::Event)
}

/// Returns the whole line that ends with `piece`; only a line that a read split is copied.
fn complete_line<'a>(open_line: &'a mut Vec<u8>, piece: &'a [u8]) -> &'a [u8] {
    if open_line.is_empty() {
        return piece;
    }
    open_line.extend_from_slice(piece);
    open_line
}

/// Splits off the first line. A line feed separated from its carriage return is left to the next
/// read.
fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr2(b'\n', b'\r', bytes)?;
    let length = if bytes[end..].starts_with(b"\r\n") { 2 } else { 1 };
    Some((&bytes[..end], &bytes[end + length..]))
}

fn strip_byte_order_mark(line: &[u8], on_first_line: bool) -> &[u8] {
    let stripped = on_first_line.then(|| line.strip_prefix(BYTE_ORDER_MARK)).flatten();
    stripped.unwrap_or(line)
}
