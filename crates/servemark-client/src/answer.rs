//! Reads the body of a 200: as a stream of events or as one document, whichever it is.
//!
//! It is handed bytes with their stamp and does no I/O. What the data means is the decoder's
//! business; here it is only cut into what a decoder reads.

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use servemark_backends::{Decoder, Flow};
use servemark_core::{Arrival, ErrorKind, Recorder, RequestError};
use servemark_sse::{FeedError, Parser, Unfinished};

/// The body of one answer.
#[derive(Debug)]
pub(crate) struct Answer<D> {
    decoder: D,
    shape: Shape,
    last: Arrival,
    is_empty: bool,
}

#[derive(Debug)]
enum Shape {
    Stream(Parser),
    Document(Vec<u8>),
    /// The head does not say; the first byte will.
    Unknown,
}

/// Why the parser was stopped within a read.
enum Stopped {
    Done,
    Failed(RequestError),
}

impl<D: Decoder> Answer<D> {
    /// An answer of which nothing is known yet, to be read by `decoder`.
    pub(crate) fn new(decoder: D) -> Self {
        Self { decoder, shape: Shape::Unknown, last: Arrival::default(), is_empty: true }
    }

    /// Its head is `headers`.
    pub(crate) fn begin(&mut self, headers: &HeaderMap) -> Result<(), RequestError> {
        if headers.get(CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
            let message = "the server compressed its answer, which nobody asked for";
            return Err(RequestError::new(ErrorKind::Decode, message));
        }
        self.shape = Shape::of(headers);
        Ok(())
    }

    /// Reads what arrived at `at`. All events completed by it share that stamp.
    pub(crate) fn read(
        &mut self,
        bytes: &[u8],
        at: Arrival,
        recorder: &mut Recorder,
    ) -> Result<Flow, RequestError> {
        let Some(first) = bytes.first() else { return Ok(Flow::Continue) };
        self.is_empty = false;
        self.last = at;
        self.shape.settle(*first);
        match &mut self.shape {
            Shape::Stream(parser) => feed(parser, bytes, &mut self.decoder, at, recorder),
            Shape::Document(document) => hold(document, bytes),
            Shape::Unknown => Ok(Flow::Continue),
        }
    }

    /// The body is over, or its end mark was read.
    pub(crate) fn end(&mut self, flow: Flow, recorder: &mut Recorder) -> Result<(), RequestError> {
        if self.is_empty {
            let message = "the server answered 200 with an empty body";
            return Err(RequestError::new(ErrorKind::Empty, message));
        }
        if matches!(self.shape, Shape::Document(_)) {
            recorder.document();
        }
        let out = &mut recorder.at(self.last);
        match &mut self.shape {
            Shape::Stream(parser) if flow == Flow::Continue => {
                if let Some(unfinished) = parser.finish() {
                    last_event(unfinished, &mut self.decoder, out)?;
                }
            }
            Shape::Document(document) => self.decoder.document(document, out)?,
            Shape::Stream(_) | Shape::Unknown => {}
        }
        self.decoder.end()
    }
}

impl Shape {
    fn of(headers: &HeaderMap) -> Self {
        let content_type = headers.get(CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
        let essence = content_type.split(|&byte| byte == b';').next().unwrap_or_default();
        let essence = essence.trim_ascii();
        if essence.eq_ignore_ascii_case(b"text/event-stream") {
            Self::Stream(Parser::with_limit(LIMIT))
        } else if essence.eq_ignore_ascii_case(b"application/json") {
            Self::Document(Vec::new())
        } else {
            Self::Unknown
        }
    }

    /// Some servers stream without saying so; no event begins like a JSON document.
    fn settle(&mut self, first: u8) {
        if matches!(self, Self::Unknown) {
            *self = match first {
                b'{' | b'[' => Self::Document(Vec::new()),
                _ => Self::Stream(Parser::with_limit(LIMIT)),
            };
        }
    }
}

fn feed<D: Decoder>(
    parser: &mut Parser,
    bytes: &[u8],
    decoder: &mut D,
    at: Arrival,
    recorder: &mut Recorder,
) -> Result<Flow, RequestError> {
    let mut out = recorder.at(at);
    let fed = parser.feed(bytes, |event| match decoder.event(event, &mut out) {
        Ok(Flow::Continue) => Ok(()),
        Ok(Flow::Done) => Err(Stopped::Done),
        Err(error) => Err(Stopped::Failed(error)),
    });
    match fed {
        Ok(()) => Ok(Flow::Continue),
        Err(FeedError::Event(Stopped::Done)) => Ok(Flow::Done),
        Err(FeedError::Event(Stopped::Failed(error))) => Err(error),
        Err(FeedError::TooLong { limit }) => Err(too_long(limit)),
    }
}

/// Servers end streams without the last blank line. If what is left is no event of the dialect,
/// the stream was cut.
fn last_event<D: Decoder>(
    unfinished: Unfinished<'_>,
    decoder: &mut D,
    out: &mut dyn servemark_core::Sink,
) -> Result<(), RequestError> {
    let Some(event) = unfinished.event() else { return Ok(()) };
    decoder.event(event, out).map(|_| ()).map_err(|error| match error.kind {
        ErrorKind::Decode if !unfinished.open_line().is_empty() => {
            let message = "the stream ended in the middle of an event";
            RequestError::new(ErrorKind::Truncated, message)
        }
        _ => error,
    })
}

fn hold(document: &mut Vec<u8>, bytes: &[u8]) -> Result<Flow, RequestError> {
    if document.len() + bytes.len() > LIMIT {
        return Err(too_long(LIMIT));
    }
    document.extend_from_slice(bytes);
    Ok(Flow::Continue)
}

fn too_long(limit: usize) -> RequestError {
    let message = format!("an answer longer than {} MiB in one piece", limit >> 20);
    RequestError::new(ErrorKind::Decode, message)
}

/// A batch of embeddings is tens of megabytes; what is longer is not an answer.
const LIMIT: usize = 256 << 20;
