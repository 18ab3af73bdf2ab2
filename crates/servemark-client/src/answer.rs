//! Reads the body of an answer with status 200: a stream of events, a stream of lines or one
//! document.
//!
//! It is given bytes with their arrival times and does no I/O. It only splits the body into units
//! for the decoder, which interprets the data.

use std::sync::Arc;

use http::HeaderMap;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use servemark_backends::{Decoder, Flow, Framing};
use servemark_core::{Arrival, ErrorKind, Recorder, RequestError, Sink};
use servemark_sse::{Event, FeedError, LineParser, Parser, Unfinished};

use crate::coding::Inflater;
use crate::reservation::{AnswerBudget, Reservation};
use crate::web_page;

/// The body of one answer.
pub(crate) struct AnswerReader {
    decoder: Box<dyn Decoder>,
    framing: Framing,
    shape: Shape,
    /// Present if the body is compressed. Boxed, so that answers stay small.
    inflater: Option<Box<Inflater>>,
    holding: Reservation,
    last: Arrival,
    is_empty: bool,
}

#[derive(Debug)]
enum Shape {
    Stream(Parser),
    Lines(LineParser),
    Document(Vec<u8>),
    /// The head announces lines; the first bytes may show that they are events.
    Announced,
    /// The head does not say; the first bytes decide.
    Unknown,
}

/// Why reading stopped.
enum Stopped {
    Failed(RequestError),
    /// A line or an event exceeds the limit of one answer.
    TooLong,
}

/// Why the event handler stopped the parser within a read.
enum Handled {
    Done,
    Failed(RequestError),
}

impl AnswerReader {
    /// Creates an unread answer for a decoder whose dialect uses `framing`. Its memory counts in
    /// `budget`.
    pub(crate) fn new(
        decoder: Box<dyn Decoder>,
        framing: Framing,
        budget: Arc<AnswerBudget>,
    ) -> Self {
        let (holding, last) = (Reservation::new(budget), Arrival::default());
        let shape = Shape::Unknown;
        Self { decoder, framing, shape, inflater: None, holding, last, is_empty: true }
    }

    /// Starts the answer with its head's `headers`; `asked` are the headers of the request.
    pub(crate) fn begin(
        &mut self,
        headers: &HeaderMap,
        request_headers: &HeaderMap,
    ) -> Result<(), RequestError> {
        self.inflater = Inflater::of(headers, request_headers)?.map(Box::new);
        self.holding.open();
        self.shape = Shape::of(headers, self.framing, self.holding.budget().each());
        match self.shape {
            Shape::Document(_) => self.check_length(headers),
            _ => Ok(()),
        }
    }

    /// Gives the head's headers to the decoder.
    pub(crate) fn head(&mut self, headers: &HeaderMap, out: &mut dyn Sink) {
        self.decoder.head(headers, out);
    }

    /// Reads bytes that arrived at `at`. All events that they complete get that arrival time.
    pub(crate) fn read(
        &mut self,
        bytes: &[u8],
        at: Arrival,
        recorder: &mut Recorder,
    ) -> Result<Flow, RequestError> {
        let Some(mut inflater) = self.inflater.take() else {
            return self.read_plain(bytes, at, recorder);
        };
        let mut flow = Flow::Continue;
        let inflated = inflater.feed(bytes, |plain| {
            if flow == Flow::Continue {
                flow = self.read_plain(plain, at, recorder)?;
            }
            Ok::<(), RequestError>(())
        });
        self.inflater = Some(inflater);
        inflated.map(|()| flow)
    }

    /// Reads a part of a body that is not compressed, or is already decompressed.
    fn read_plain(
        &mut self,
        bytes: &[u8],
        at: Arrival,
        recorder: &mut Recorder,
    ) -> Result<Flow, RequestError> {
        if bytes.is_empty() {
            return Ok(Flow::Continue);
        }
        if self.is_empty && servemark_backends::is_web_page(bytes) {
            let message = format!("the server did not answer with output{}", web_page::HINT);
            return Err(RequestError::new(ErrorKind::Decode, message));
        }
        self.is_empty = false;
        self.last = at;
        self.shape.settle(bytes, self.framing, self.holding.budget().each());
        let fed = match &mut self.shape {
            Shape::Stream(parser) => feed(parser, bytes, self.decoder.as_mut(), at, recorder),
            Shape::Lines(lines) => feed_lines(lines, bytes, self.decoder.as_mut(), at, recorder),
            Shape::Document(document) => {
                document.extend_from_slice(bytes);
                Ok(Flow::Continue)
            }
            Shape::Announced | Shape::Unknown => Ok(Flow::Continue),
        };
        let flow = fed.map_err(|stopped| match stopped {
            Stopped::Failed(error) => error,
            Stopped::TooLong => self.holding.budget().too_large(),
        })?;
        self.holding.check_pieces(recorder.pieces())?;
        self.holding.hold(self.shape.held_bytes() + recorder.output_bytes())?;
        Ok(flow)
    }

    /// Refuses a document whose content length exceeds the limit.
    fn check_length(&self, headers: &HeaderMap) -> Result<(), RequestError> {
        let length =
            headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let budget = self.holding.budget();
        if length.is_some_and(|length: usize| length > budget.each()) {
            return Err(budget.too_large());
        }
        Ok(())
    }

    /// Ends the answer: the body is over, or its end mark was read.
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
                    last_event(unfinished, self.decoder.as_mut(), out)?;
                }
            }
            Shape::Lines(lines) if flow == Flow::Continue => {
                if let Some(line) = lines.finish() {
                    let read = self.decoder.event(Event::from_data(line), out);
                    read.map_err(|error| cut(error, "the stream ended in the middle of a line"))?;
                }
            }
            Shape::Document(document) => self.decoder.document(document, out)?,
            Shape::Stream(_) | Shape::Lines(_) | Shape::Announced | Shape::Unknown => {}
        }
        self.decoder.end()
    }
}

impl Shape {
    /// Returns the shape that the content type announces. In a dialect of lines a JSON document is
    /// read as a stream of one line.
    fn of(headers: &HeaderMap, framing: Framing, limit: usize) -> Self {
        let content_type = headers.get(CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
        let essence = content_type.split(|&byte| byte == b';').next().unwrap_or_default();
        let is = |name: &&str| essence.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
        if is(&"text/event-stream") {
            Self::Stream(Parser::with_limit(limit))
        } else if LINES.iter().any(is) {
            Self::Announced
        } else if is(&"application/json") && framing != Framing::Lines {
            Self::Document(Vec::new())
        } else {
            Self::Unknown
        }
    }

    /// Decides the shape by the first bytes: some servers stream without announcing it, or announce
    /// lines and send events. No event begins like a JSON document.
    fn settle(&mut self, first: &[u8], framing: Framing, limit: usize) {
        if !matches!(self, Self::Announced | Self::Unknown) {
            return;
        }
        let is_of_lines = matches!(self, Self::Announced) || framing == Framing::Lines;
        *self = match (framing, first) {
            _ if is_of_lines && begins_an_event(first) => Self::Stream(Parser::with_limit(limit)),
            _ if is_of_lines => Self::Lines(LineParser::with_limit(limit)),
            (Framing::Document, _) | (_, [b'{' | b'[', ..]) => Self::Document(Vec::new()),
            _ => Self::Stream(Parser::with_limit(limit)),
        };
    }

    /// Returns the number of bytes held of data that is not complete.
    fn held_bytes(&self) -> usize {
        match self {
            Self::Stream(parser) => parser.held_bytes(),
            Self::Lines(lines) => lines.held_bytes(),
            Self::Document(document) => document.len(),
            Self::Announced | Self::Unknown => 0,
        }
    }
}

/// Whether bytes begin like an event, as far as they go: with a comment, or with a field and a colon.
fn begins_an_event(bytes: &[u8]) -> bool {
    let begin = |known: &&[u8]| known.iter().zip(bytes).all(|(known, byte)| known == byte);
    [&b":"[..], b"data:", b"event:", b"id:", b"retry:"].iter().any(begin)
}

fn feed(
    parser: &mut Parser,
    bytes: &[u8],
    decoder: &mut dyn Decoder,
    at: Arrival,
    recorder: &mut Recorder,
) -> Result<Flow, Stopped> {
    let mut out = recorder.at(at);
    outcome(parser.feed(bytes, |event| handle(event, decoder, &mut out)))
}

/// Feeds lines; the decoder gets each line as the data of an event.
fn feed_lines(
    lines: &mut LineParser,
    bytes: &[u8],
    decoder: &mut dyn Decoder,
    at: Arrival,
    recorder: &mut Recorder,
) -> Result<Flow, Stopped> {
    let mut out = recorder.at(at);
    outcome(lines.feed(bytes, |line| handle(Event::from_data(line), decoder, &mut out)))
}

fn handle(event: Event<'_>, decoder: &mut dyn Decoder, out: &mut dyn Sink) -> Result<(), Handled> {
    match decoder.event(event, out) {
        Ok(Flow::Continue) => Ok(()),
        Ok(Flow::Done) => Err(Handled::Done),
        Err(error) => Err(Handled::Failed(error)),
    }
}

fn outcome(fed: Result<(), FeedError<Handled>>) -> Result<Flow, Stopped> {
    match fed {
        Ok(()) => Ok(Flow::Continue),
        Err(FeedError::Event(Handled::Done)) => Ok(Flow::Done),
        Err(FeedError::Event(Handled::Failed(error))) => Err(Stopped::Failed(error)),
        Err(FeedError::TooLong { .. }) => Err(Stopped::TooLong),
    }
}

/// Passes the last event to the decoder, because servers end streams without the last blank line.
/// If it is not a valid event of the dialect, the stream was truncated.
fn last_event(
    unfinished: Unfinished<'_>,
    decoder: &mut dyn Decoder,
    out: &mut dyn Sink,
) -> Result<(), RequestError> {
    let Some(event) = unfinished.event() else { return Ok(()) };
    decoder.event(event, out).map(drop).map_err(|error| {
        if unfinished.open_line().is_empty() {
            return error;
        }
        cut(error, "the stream ended in the middle of an event")
    })
}

/// Turns a decoding error at the end of a stream into a truncation error.
fn cut(error: RequestError, message: &str) -> RequestError {
    match error.kind {
        ErrorKind::Decode => RequestError::new(ErrorKind::Truncated, message),
        _ => error,
    }
}

/// Content types under which servers send lines of JSON.
const LINES: [&str; 6] = [
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-jsonlines",
    "application/json-lines",
    "application/jsonlines",
];
