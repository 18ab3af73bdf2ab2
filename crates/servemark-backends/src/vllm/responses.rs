//! The answers of `/v1/responses`: events that say themselves what they are.

use serde::Deserialize;
use serde_json::value::RawValue;
use servemark_core::{Delta, DeltaKind, ErrorKind, RequestError, Sample, Sink, Usage};
use servemark_sse::Event;

use crate::wire::{Frame, Text, believable, in_stream, parse};
use crate::{Decoder, Flow};

/// Reads an answer of `/v1/responses`. It is whole when the server says that it is over.
#[derive(Clone, Debug)]
pub struct ResponsesDecoder {
    expects_output: bool,
    has_output: bool,
    is_over: bool,
}

impl ResponsesDecoder {
    /// A reader of the answer to a sample.
    pub fn new(sample: &Sample) -> Self {
        Self { expects_output: sample.output_tokens > 0, has_output: false, is_over: false }
    }

    fn read(&mut self, json: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let message: Message<'_> = parse(json)?;
        match message.kind() {
            "response.output_text.delta" => self.piece(DeltaKind::Content, &message, out),
            "response.reasoning_text.delta" => self.piece(DeltaKind::Reasoning, &message, out),
            kind @ ("response.completed" | "response.incomplete") => {
                self.is_over = true;
                let whole = kind.trim_start_matches("response.");
                out.finish_reason(message.incomplete().unwrap_or(whole));
                if let Some(usage) = message.usage().and_then(believable) {
                    out.usage(usage);
                }
            }
            "error" | "response.failed" => return Err(in_stream(json)),
            _ if message.error.is_some() => return Err(in_stream(json)),
            _ => {}
        }
        Ok(())
    }

    fn piece(&mut self, kind: DeltaKind, message: &Message<'_>, out: &mut dyn Sink) {
        let text = message.delta.as_ref().map_or("", |text| &text.0);
        if !text.is_empty() {
            self.has_output = true;
            out.delta(Delta::content(text).of_kind(kind));
        }
    }
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError> {
        match Frame::of_event(event)? {
            Frame::Blank => Ok(Flow::Continue),
            Frame::Done => Ok(Flow::Done),
            Frame::Json(json) => self.read(json, out).map(|()| Flow::Continue),
        }
    }

    fn end(&mut self) -> Result<(), RequestError> {
        if !self.has_output && self.expects_output {
            return Err(RequestError::new(ErrorKind::Empty, "the answer holds no output"));
        }
        if !self.is_over {
            let story = "the answer stopped without saying that it is complete";
            return Err(RequestError::new(ErrorKind::Truncated, story));
        }
        Ok(())
    }
}

/// What of an event is needed.
#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    delta: Option<Text<'a>>,
    #[serde(borrow)]
    response: Option<Response<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Message<'_> {
    fn kind(&self) -> &str {
        self.kind.as_ref().map_or("", |kind| &kind.0)
    }

    /// Why the answer is not whole. vLLM's server says so under `response.completed`, too.
    fn incomplete(&self) -> Option<&str> {
        let details = self.response.as_ref()?.incomplete_details.as_ref()?;
        Some(&details.reason.as_ref()?.0)
    }

    fn usage(&self) -> Option<Usage> {
        let usage = self.response.as_ref()?.usage.as_ref()?;
        Some(Usage::new(usage.input_tokens, usage.output_tokens))
    }
}

#[derive(Debug, Deserialize)]
struct Response<'a> {
    usage: Option<WireUsage>,
    #[serde(borrow)]
    incomplete_details: Option<Incomplete<'a>>,
}

#[derive(Debug, Deserialize)]
struct Incomplete<'a> {
    #[serde(borrow)]
    reason: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
struct WireUsage {
    input_tokens: Option<u32>,
    output_tokens: Option<u32>,
}
