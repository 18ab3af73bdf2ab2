//! What can be made to go wrong. How it is written stands in `grammar`.

use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::grammar;
use crate::MockError;

/// Something that goes wrong, and how often.
///
/// It is written `NAME[@CHUNK][:ARGUMENT][/EVERY]`: chunks count from 0, and `EVERY` of 3 means the
/// 3rd, 6th, 9th … request for an answer (for `reset`, connection); without it, each one. JSON uses
/// the same text.
///
/// | fault | what happens |
/// |---|---|
/// | `status:CODE[:BODY]` | the answer is this status |
/// | `cut@CHUNK` | the connection ends in place of the chunk |
/// | `stall@CHUNK[:DURATION]` | the chunk and those after it come so much later, or never |
/// | `bad-frame@CHUNK` | the chunk is not JSON |
/// | `error@CHUNK:object\|string\|flat` | an error in place of the chunk, then the end mark |
/// | `empty` | a 200 without a body |
/// | `only-done` | the stream holds nothing but its end mark |
/// | `no-done` | the stream's end mark is missing |
/// | `split:BYTES` | everything is written in pieces of so many bytes |
/// | `crlf` | lines of the stream end with CR LF |
/// | `comments` | a comment precedes every event |
/// | `merge:EVENTS` | so many chunks go out in one, when the last of them is due |
/// | `close-delimited` | an HTTP/1.0 answer that ends with its connection |
/// | `close-after:DURATION` | the connection ends so long after a whole answer that said it would stay |
/// | `close-idle:DURATION` | a connection ends on which no request came for so long after an answer |
/// | `idle-408:DURATION` | the same, and a 408 that nobody asked for precedes the end |
/// | `reset` | the connection is reset as soon as it is accepted |
/// | `slow-headers:DURATION` | the response's head comes so late |
/// | `not-ready:DURATION` | every route answers 503 for so long after the start |
///
/// `close-after` reads no request between the answer and the end, which loses one that was sent
/// meanwhile, as llama.cpp's server does. `close-idle` and `idle-408` count from the end of an answer
/// and are faults of every connection.
///
/// An answer that is one document has one chunk, due when the last one of a stream would be.
/// `cut` sends half of it, `stall` delays it; faults in the stream's text do not touch it.
///
/// ```
/// use servemark_mock::{Fault, FaultKind};
///
/// let fault: Fault = "cut@5/3".parse()?;
/// assert_eq!((fault.kind(), fault.every()), (&FaultKind::Cut { chunk: 5 }, 3));
/// assert!("cut/3".parse::<Fault>().unwrap_err().to_string().contains("expected cut@CHUNK"));
/// # Ok::<(), servemark_mock::MockError>(())
/// ```
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fault {
    kind: FaultKind,
    every: NonZeroU32,
}

impl Fault {
    /// A fault of every request.
    pub fn always(kind: FaultKind) -> Self {
        Self { kind, every: NonZeroU32::MIN }
    }

    /// A fault of every `every`-th request.
    pub fn every_nth(kind: FaultKind, every: NonZeroU32) -> Self {
        Self { kind, every }
    }

    /// What goes wrong.
    pub fn kind(&self) -> &FaultKind {
        &self.kind
    }

    /// How often: at the N-th, the 2N-th … request.
    pub fn every(&self) -> u32 {
        self.every.get()
    }

    /// Whether the request with this number, from one, is hit.
    pub(crate) fn hits(&self, ordinal: u64) -> bool {
        ordinal.is_multiple_of(u64::from(self.every.get()))
    }
}

/// What goes wrong. [`Fault`] has the meanings.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum FaultKind {
    /// A chunk that is not JSON.
    BadFrame {
        /// Which.
        chunk: u32,
    },
    /// An answer that ends with its connection.
    CloseDelimited,
    /// The connection ends after a whole answer that said it would stay.
    CloseAfter {
        /// How long after.
        delay: Duration,
    },
    /// A connection without requests ends.
    CloseIdle {
        /// After how long.
        limit: Duration,
    },
    /// A comment before every event.
    Comments,
    /// Lines that end with CR LF.
    Crlf,
    /// The connection ends in place of a chunk.
    Cut {
        /// Which.
        chunk: u32,
    },
    /// A 200 without a body.
    Empty,
    /// An error in the stream in place of a chunk.
    Error {
        /// Which.
        chunk: u32,
        /// How it looks.
        shape: ErrorShape,
    },
    /// A connection without requests ends with a 408.
    Idle408 {
        /// After how long.
        limit: Duration,
    },
    /// Several chunks in one.
    Merge {
        /// How many.
        events: NonZeroU32,
    },
    /// A stream without its end mark.
    NoDone,
    /// Every route answers 503 at first.
    NotReady {
        /// For so long after the start.
        until: Duration,
    },
    /// A stream that is only its end mark.
    OnlyDone,
    /// The connection is reset as soon as it is accepted.
    Reset,
    /// The response's head is late.
    SlowHeaders {
        /// By so much.
        delay: Duration,
    },
    /// Writes of a few bytes each.
    Split {
        /// How many.
        bytes: NonZeroUsize,
    },
    /// A pause before a chunk.
    Stall {
        /// Which.
        chunk: u32,
        /// How long; absent for ever.
        pause: Option<Duration>,
    },
    /// Another status than 200.
    Status {
        /// The status.
        code: u16,
        /// The body, if not the usual error object.
        body: Option<String>,
    },
}

/// The shapes in which servers put an error into a stream that began well.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ErrorShape {
    /// `{"object": "error", "message": …}`
    Flat,
    /// `{"error": {"message": …}}`
    Object,
    /// `{"error": "…"}`
    String,
}

impl FromStr for Fault {
    type Err = MockError;

    fn from_str(text: &str) -> Result<Self, MockError> {
        grammar::parse(text)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        grammar::write(&self.kind, formatter)?;
        match self.every.get() {
            1 => Ok(()),
            every => write!(formatter, "/{every}"),
        }
    }
}

impl TryFrom<String> for Fault {
    type Error = MockError;

    fn try_from(text: String) -> Result<Self, MockError> {
        text.parse()
    }
}

impl From<Fault> for String {
    fn from(fault: Fault) -> Self {
        fault.to_string()
    }
}
