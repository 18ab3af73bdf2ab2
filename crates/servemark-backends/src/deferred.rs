//! Dialects that work outside the measured path: requests are encoded before the run, and answers
//! are decoded after they have ended.
//!
//! On the measured path there is only [`DeferredCodec`], which keeps each frame of an answer in the
//! place of a piece of output.

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str;

use servemark_core::{
    Arrival, Delta, ErrorKind, Prompt, Recorder, RequestError, RequestRecord, Sample, Sink, Stamp,
};
use servemark_sse::Event;

use crate::{Backend, Decoder, Flow, Framing, WireRequest};

/// A wire dialect that may take its time, such as one in another language: all requests are encoded
/// before the run, and each answer is decoded after it has ended, by the thread that writes the run
/// log. It costs memory for the encoded requests and for the frames of the answers, and the CPU time
/// of decoding beside the run. A dialect that is fast enough for the measured path is a [`Backend`].
///
/// ```
/// use servemark_backends::{DeferredBackend, Framing, RawAnswer, WireRequest};
/// use servemark_core::{Delta, ErrorKind, Recorder, RequestError, Sample, Sink};
///
/// /// A server that streams lines of plain text.
/// struct PlainLines;
///
/// impl DeferredBackend for PlainLines {
///     fn encode(&self, sample: &Sample, model: &str) -> Result<WireRequest, RequestError> {
///         let body = serde_json::json!({"model": model, "ask": sample.prompt});
///         WireRequest::json("/lines", &body)
///     }
///
///     fn decode(&self, answer: RawAnswer<'_>, out: &mut Recorder) -> Result<(), RequestError> {
///         for frame in answer.frames() {
///             if let Some(story) = frame.data.strip_prefix("ERROR ") {
///                 return Err(RequestError::new(ErrorKind::InStream, story));
///             }
///             out.at(frame.arrival).delta(Delta::content(frame.data));
///         }
///         Ok(())
///     }
///
///     fn framing(&self) -> Framing {
///         Framing::Lines
///     }
/// }
/// ```
pub trait DeferredBackend: Send + Sync + 'static {
    /// Returns the request for a sample; `model` is the name of the model in requests. It is called
    /// before anything is sent, and an error ends the run.
    fn encode(&self, sample: &Sample, model: &str) -> Result<WireRequest, RequestError>;

    /// Records the output of an answer under the arrival times of its frames, in their order. It is
    /// called for each answer that has a frame, complete or not; an error makes the request a failed
    /// one.
    fn decode(&self, answer: RawAnswer<'_>, out: &mut Recorder) -> Result<(), RequestError>;

    /// Returns the framing of the dialect's answers; see [`Backend::framing`].
    fn framing(&self) -> Framing {
        Framing::Events
    }
}

/// An answer as it arrived.
#[derive(Clone, Copy, Debug)]
pub struct RawAnswer<'a>(&'a RequestRecord);

/// A frame of an answer: an event, a line, or a whole document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RawFrame<'a> {
    /// Name of the event; empty for an event without a name, a line or a document.
    pub event: &'a str,
    /// Data of the event, the line without its end, or the document.
    pub data: &'a str,
    /// When the frame was complete. Frames of one read have the same arrival.
    pub arrival: Arrival,
}

impl<'a> RawAnswer<'a> {
    /// Returns when the request was sent.
    pub fn sent(self) -> Stamp {
        self.0.started()
    }

    /// Returns why the request failed, if it did. The frames are those that arrived before.
    pub fn error(self) -> Option<&'a RequestError> {
        self.0.outcome.as_ref().err()
    }

    /// Returns the frames in order of arrival.
    pub fn frames(self) -> impl Iterator<Item = RawFrame<'a>> + use<'a> {
        self.0.pieces().map(|(row, text)| {
            let (event, data) = text.split_once(NAME_END).unwrap_or(("", text));
            RawFrame { event, data, arrival: row.arrival() }
        })
    }
}

/// Decodes the answer of a request that was sent by a [`DeferredCodec`]. A request that fails because
/// of it keeps its times.
pub fn decode_raw(backend: &dyn DeferredBackend, mut raw: RequestRecord) -> RequestRecord {
    if raw.deltas.is_empty() {
        return raw;
    }
    let frames = (std::mem::take(&mut raw.deltas), std::mem::take(&mut raw.text));
    let mut recorder = Recorder::of_ended(raw.clone());
    (raw.deltas, raw.text) = frames;
    let decode = || backend.decode(RawAnswer(&raw), &mut recorder);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    let decoded = decoded.unwrap_or_else(|_| {
        Err(RequestError::new(ErrorKind::Decode, "decoding the answer panicked"))
    });
    // What ended the request precedes what is wrong with the part that arrived.
    let outcome = raw.outcome.and_then(|finish| decoded.map(|()| finish));
    let mut record = recorder.finish(outcome, raw.ended);
    if record.is_success() && lacks_output(&record) {
        record.outcome = Err(RequestError::new(ErrorKind::Empty, "the answer holds no output"));
    }
    record
}

/// Whether output was asked for and there is none. Tokens that the server counts may decode to no
/// text.
fn lacks_output(record: &RequestRecord) -> bool {
    let counted = record.usage.and_then(|usage| usage.completion_tokens);
    record.deltas.is_empty() && counted.unwrap_or(0) == 0 && record.planned.output_tokens > 0
}

/// The measured side of a [`DeferredBackend`]: it sends requests that are ready, and keeps the frames
/// of their answers for [`decode_raw`].
#[derive(Clone, Copy, Debug)]
pub struct DeferredCodec {
    framing: Framing,
}

impl DeferredCodec {
    /// Creates the codec of a dialect with this framing.
    pub fn new(framing: Framing) -> Self {
        Self { framing }
    }
}

impl Backend for DeferredCodec {
    type Decoder = RawFrameDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let Prompt::Ready(ready) = &sample.prompt else {
            let story = "the request was not encoded before the run";
            return Err(RequestError::new(ErrorKind::Encode, story));
        };
        WireRequest::of_ready(ready)?.with_headers(&sample.headers)
    }

    fn decoder(&self, _sample: &Sample) -> RawFrameDecoder {
        RawFrameDecoder::default()
    }

    fn framing(&self) -> Framing {
        self.framing
    }
}

/// Decoder that keeps frames in the place of pieces of output.
#[derive(Debug, Default)]
pub struct RawFrameDecoder {
    frame: String,
}

impl RawFrameDecoder {
    fn keep(&mut self, event: &[u8], data: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let text = |bytes| str::from_utf8(bytes).map_err(|_| not_text());
        self.frame.clear();
        self.frame.push_str(text(event)?);
        self.frame.push(NAME_END);
        self.frame.push_str(text(data)?);
        out.delta(Delta::content(&self.frame));
        Ok(())
    }
}

impl Decoder for RawFrameDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError> {
        self.keep(event.event(), event.data(), out)?;
        Ok(Flow::Continue)
    }

    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        self.keep(b"", body, out)
    }

    fn end(&mut self) -> Result<(), RequestError> {
        Ok(())
    }
}

fn not_text() -> RequestError {
    RequestError::new(ErrorKind::Decode, "a frame of the answer is not UTF-8")
}

/// What stands between the name of an event, which is part of a line, and its data.
const NAME_END: char = '\n';
