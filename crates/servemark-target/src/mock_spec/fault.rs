//! The faults that can be injected. Their text form is in `grammar`.

use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::MockSpecError;
use super::grammar;

/// A fault to inject, and how often.
///
/// Its text form is `NAME[@CHUNK][:ARGUMENT][/EVERY]`. Chunks count from 0. `EVERY` of 3 means the
/// 3rd, 6th, 9th … request for an answer (for `reset`, connection); without it, every one. JSON
/// holds the same text.
///
/// | fault | effect |
/// |---|---|
/// | `status:CODE[:BODY]` | the response has this status |
/// | `cut@CHUNK` | the connection ends in place of the chunk |
/// | `stall@CHUNK[:DURATION]` | the chunk and all later ones come DURATION later, or never |
/// | `preempt@CHUNK:DURATION` | as `stall`, and the server counts a preemption |
/// | `bad-frame@CHUNK` | the chunk is not JSON |
/// | `error@CHUNK:object\|string\|flat` | an error in place of the chunk, then the end mark |
/// | `empty` | a 200 without a body |
/// | `only-done` | the stream holds nothing but its end mark |
/// | `no-done` | the stream's end mark is missing |
/// | `split:BYTES` | everything is written BYTES bytes at a time |
/// | `crlf` | lines of the stream end with CR LF |
/// | `comments` | a comment precedes every event |
/// | `merge:EVENTS` | EVENTS chunks are sent as one when the last of them is due |
/// | `close-delimited` | an HTTP/1.0 response whose body ends with the connection |
/// | `close-after:DURATION` | the connection ends DURATION after a whole keep-alive response |
/// | `close-idle:DURATION` | the connection ends if no request follows an answer for DURATION |
/// | `idle-408:DURATION` | as `close-idle`, with an unsolicited 408 response before the end |
/// | `reset` | the connection is reset as soon as it is accepted |
/// | `slow-headers:DURATION` | the response's head is delayed by DURATION |
/// | `not-ready:DURATION` | every route answers 503 until DURATION after the start |
///
/// `close-after` reads no request between the answer and the end of the connection, so a request
/// sent in between is lost, as with llama.cpp's server. `close-idle` and `idle-408` count from the
/// end of an answer and apply to every connection.
///
/// An answer that is one document has one chunk, due when the last chunk of a stream would be.
/// `cut` sends half of it, `stall` delays it; faults in the stream's text do not affect it.
///
/// ```
/// use servemark_target::{Fault, FaultKind};
///
/// let fault: Fault = "cut@5/3".parse()?;
/// assert_eq!((fault.kind(), fault.every()), (&FaultKind::Cut { chunk: 5 }, 3));
/// assert!("cut/3".parse::<Fault>().unwrap_err().to_string().contains("expected cut@CHUNK"));
/// # Ok::<(), servemark_target::MockSpecError>(())
/// ```
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fault {
    kind: FaultKind,
    every: NonZeroU32,
}

impl Fault {
    /// Returns a fault that hits every request.
    pub fn always(kind: FaultKind) -> Self {
        Self { kind, every: NonZeroU32::MIN }
    }

    /// Returns a fault that hits every `every`-th request.
    pub fn every_nth(kind: FaultKind, every: NonZeroU32) -> Self {
        Self { kind, every }
    }

    /// Returns the effect.
    pub fn kind(&self) -> &FaultKind {
        &self.kind
    }

    /// Returns the period N: the fault hits the N-th, 2N-th … request.
    pub fn every(&self) -> u32 {
        self.every.get()
    }

    /// Whether the fault hits the request with this one-based number.
    pub fn hits(&self, ordinal: u64) -> bool {
        ordinal.is_multiple_of(u64::from(self.every.get()))
    }
}

/// The effect of a fault. The table at [`Fault`] has the details.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FaultKind {
    /// A chunk is not JSON.
    BadFrame {
        /// Zero-based index of the chunk.
        chunk: u32,
    },
    /// The body ends with the connection.
    CloseDelimited,
    /// The connection ends after a whole keep-alive response.
    CloseAfter {
        /// The time from the end of the answer to the end of the connection.
        delay: Duration,
    },
    /// An idle connection ends.
    CloseIdle {
        /// How long the connection may be idle after an answer.
        limit: Duration,
    },
    /// A comment precedes every event.
    Comments,
    /// Lines end with CR LF.
    Crlf,
    /// The connection ends in place of a chunk.
    Cut {
        /// Zero-based index of the chunk.
        chunk: u32,
    },
    /// The response is a 200 without a body.
    Empty,
    /// An error in the stream replaces a chunk.
    Error {
        /// Zero-based index of the chunk.
        chunk: u32,
        /// The JSON shape of the error.
        shape: ErrorShape,
    },
    /// An idle connection ends after an unsolicited 408 response.
    Idle408 {
        /// How long the connection may be idle after an answer.
        limit: Duration,
    },
    /// Several chunks are sent as one.
    Merge {
        /// The number of chunks sent as one.
        events: NonZeroU32,
    },
    /// The stream's end mark is missing.
    NoDone,
    /// Every route answers 503 at first.
    NotReady {
        /// The time from the server's start until it is ready.
        until: Duration,
    },
    /// The stream holds nothing but its end mark.
    OnlyDone,
    /// The answer is put back into the queue before a chunk: that chunk and all later ones are
    /// delayed, and the server counts a preemption.
    Preempt {
        /// Zero-based index of the first delayed chunk.
        chunk: u32,
        /// The length of the delay.
        pause: Duration,
    },
    /// The connection is reset as soon as it is accepted.
    Reset,
    /// The response's head is delayed.
    SlowHeaders {
        /// The time from the arrival of the request to the response's head.
        delay: Duration,
    },
    /// Everything is written a few bytes at a time.
    Split {
        /// The largest number of bytes in one write.
        bytes: NonZeroUsize,
    },
    /// A chunk and all later ones are delayed.
    Stall {
        /// Zero-based index of the first delayed chunk.
        chunk: u32,
        /// The length of the delay; without one, the chunk is never sent.
        pause: Option<Duration>,
    },
    /// The response has another status than 200.
    Status {
        /// The HTTP status code.
        code: u16,
        /// The body; the usual error object if absent.
        body: Option<String>,
    },
}

/// The JSON shapes in which servers report an error in the middle of a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ErrorShape {
    /// `{"object": "error", "message": …}`
    Flat,
    /// `{"error": {"message": …}}`
    Object,
    /// `{"error": "…"}`
    String,
}

impl FromStr for Fault {
    type Err = MockSpecError;

    fn from_str(text: &str) -> Result<Self, MockSpecError> {
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
    type Error = MockSpecError;

    fn try_from(text: String) -> Result<Self, MockSpecError> {
        text.parse()
    }
}

impl From<Fault> for String {
    fn from(fault: Fault) -> Self {
        fault.to_string()
    }
}
