//! The parser's output: views of bytes that the parser, or its caller, owns.
//!
//! Nothing here is decoded: names and data stay bytes, and `[DONE]` is ordinary data.

use std::fmt;

/// One dispatched event.
///
/// It is a view: the bytes lie in the read that was fed, or in the parser's buffers.
///
/// ```
/// let event = servemark_sse::Event::from_data(b"hello");
/// assert_eq!(event.data(), b"hello");
/// assert_eq!(event.event(), b"");
/// ```
#[derive(Clone, Copy, Default, Eq, PartialEq)]
pub struct Event<'a> {
    pub(crate) data: &'a [u8],
    pub(crate) name: &'a [u8],
    pub(crate) id: &'a [u8],
    pub(crate) retry: Option<u64>,
}

impl<'a> Event<'a> {
    /// Creates an event with data only, for streams with another framing and for tests of decoders.
    pub fn from_data(data: &'a [u8]) -> Self {
        Self { data, ..Self::default() }
    }

    /// Returns the values of the `data:` lines, joined by line feeds.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// Returns the value of the last `event:` line; empty stands for the default, `message`.
    pub fn event(&self) -> &'a [u8] {
        self.name
    }

    /// Returns the last event id, which an `id:` line of this or any earlier event set.
    pub fn id(&self) -> &'a [u8] {
        self.id
    }

    /// Returns the reconnection time in milliseconds, if a `retry:` line of this event set one.
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }
}

impl fmt::Debug for Event<'_> {
    /// Shows the bytes as text, which they nearly always are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("data", &Text(self.data))
            .field("event", &Text(self.name))
            .field("id", &Text(self.id))
            .field("retry", &self.retry)
            .finish()
    }
}

/// The rest of a stream that ended without a final blank line.
///
/// The grammar discards it; real servers end streams this way, so the caller decides.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct Unfinished<'a> {
    pub(crate) event: Option<Event<'a>>,
    pub(crate) open_line: &'a [u8],
}

impl<'a> Unfinished<'a> {
    /// Returns the event that a line end and a blank line would have dispatched here.
    ///
    /// `None` if there is no data line, for example because the stream stopped inside a field's
    /// name. While [`open_line`](Self::open_line) is not empty, the event's last line may be
    /// incomplete.
    pub fn event(&self) -> Option<Event<'a>> {
        self.event
    }

    /// Returns the raw bytes of the last line, which has no line end; empty if every line has one.
    pub fn open_line(&self) -> &'a [u8] {
        self.open_line
    }
}

impl fmt::Debug for Unfinished<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unfinished")
            .field("event", &self.event)
            .field("open_line", &Text(self.open_line))
            .finish()
    }
}

/// Bytes that `Debug` shows as an escaped string.
pub(crate) struct Text<'a>(pub(crate) &'a [u8]);

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}
