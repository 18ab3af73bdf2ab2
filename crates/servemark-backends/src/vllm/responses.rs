//! Decodes answers of `/v1/responses`, whose events have a type.

use serde::Deserialize;
use serde_json::value::RawValue;
use servemark_core::{Delta, DeltaKind, ErrorKind, RequestError, Sample, ServerTimes, Sink, Usage};
use servemark_sse::Event;

use crate::count::Count;
use crate::server_times;
use crate::wire::{Frame, Text, believable, in_stream, parse};
use crate::{Decoder, Flow};

/// Decodes an answer of `/v1/responses`. It is complete when the server says so.
#[derive(Clone, Debug)]
pub struct ResponsesDecoder {
    expects_output: bool,
    has_output: bool,
    is_over: bool,
}

impl ResponsesDecoder {
    /// Returns a decoder for the answer to a sample.
    pub fn new(sample: &Sample) -> Self {
        Self { expects_output: sample.output_tokens > 0, has_output: false, is_over: false }
    }

    fn read(&mut self, json: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let message: Message<'_> = parse(json)?;
        match message.kind() {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.piece(DeltaKind::Content, &message, out);
            }
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                self.piece(DeltaKind::Reasoning, &message, out);
            }
            kind @ ("response.completed" | "response.incomplete") => {
                self.is_over = true;
                let whole = kind.trim_start_matches("response.");
                out.finish_reason(message.incomplete().unwrap_or(whole));
                if let Some(usage) = message.usage() {
                    usage.report(out);
                }
                if let Some(times) = message.server_times() {
                    out.server_times(times);
                }
            }
            "error" | "response.failed" => return Err(in_stream(json)),
            _ if message.error.is_some() => return Err(in_stream(json)),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, json: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let document: Document<'_> = parse(json)?;
        if document.is_failure() {
            return Err(in_stream(json));
        }
        for (kind, text) in document.pieces() {
            self.text(kind, &text.0, out);
        }
        let incomplete = document.incomplete_details.as_ref().and_then(|why| why.reason.as_ref());
        if let Some(reason) = incomplete.or(document.status.as_ref()) {
            out.finish_reason(&reason.0);
        }
        if let Some(usage) = &document.usage {
            usage.report(out);
        }
        if let Some(times) = times_of(document.metrics, document.timings) {
            out.server_times(times);
        }
        Ok(())
    }

    fn piece(&mut self, kind: DeltaKind, message: &Message<'_>, out: &mut dyn Sink) {
        self.text(kind, message.delta.as_ref().map_or("", |text| &text.0), out);
    }

    fn text(&mut self, kind: DeltaKind, text: &str, out: &mut dyn Sink) {
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

    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        self.is_over = true;
        match Frame::of(body) {
            Frame::Json(json) => self.whole(json, out),
            Frame::Blank | Frame::Done => Ok(()),
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

/// The relevant fields of an event.
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
    #[serde(borrow)]
    timings: Option<&'a RawValue>,
}

impl Message<'_> {
    fn kind(&self) -> &str {
        self.kind.as_ref().map_or("", |kind| &kind.0)
    }

    /// Returns why the answer is incomplete. vLLM's server also says so in `response.completed`.
    fn incomplete(&self) -> Option<&str> {
        let details = self.response.as_ref()?.incomplete_details.as_ref()?;
        Some(&details.reason.as_ref()?.0)
    }

    fn usage(&self) -> Option<&WireUsage> {
        self.response.as_ref()?.usage.as_ref()
    }

    /// Returns the server's own times: vLLM's stand in the response, llama.cpp's beside it.
    fn server_times(&self) -> Option<ServerTimes> {
        times_of(self.response.as_ref().and_then(|response| response.metrics), self.timings)
    }
}

fn times_of(metrics: Option<&RawValue>, timings: Option<&RawValue>) -> Option<ServerTimes> {
    let of_vllm = metrics.and_then(server_times::of_vllm);
    of_vllm.or_else(|| timings.and_then(server_times::of_llama_cpp))
}

#[derive(Debug, Deserialize)]
struct Response<'a> {
    usage: Option<WireUsage>,
    #[serde(borrow)]
    incomplete_details: Option<Incomplete<'a>>,
    #[serde(borrow)]
    metrics: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Incomplete<'a> {
    #[serde(borrow)]
    reason: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
struct WireUsage {
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
    input_tokens_details: Option<InputDetails>,
}

impl WireUsage {
    fn counts(&self) -> Usage {
        let details = self.input_tokens_details.as_ref();
        let cached = details.and_then(|details| details.cached_tokens.tokens());
        Usage::new(self.input_tokens.tokens(), self.output_tokens.tokens()).with_cached(cached)
    }

    fn report(&self, out: &mut dyn Sink) {
        self.input_tokens.report("input_tokens", out);
        self.output_tokens.report("output_tokens", out);
        if let Some(details) = &self.input_tokens_details {
            details.cached_tokens.report("cached_tokens", out);
        }
        if let Some(usage) = believable(self.counts()) {
            out.usage(usage);
        }
    }
}

#[derive(Debug, Deserialize)]
struct InputDetails {
    #[serde(default)]
    cached_tokens: Count,
}

/// A whole answer.
#[derive(Debug, Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    status: Option<Text<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<Vec<Item<'a>>>,
    #[serde(borrow)]
    incomplete_details: Option<Incomplete<'a>>,
    usage: Option<WireUsage>,
    #[serde(borrow)]
    metrics: Option<&'a RawValue>,
    #[serde(borrow)]
    timings: Option<&'a RawValue>,
}

/// An item of the model's output: a message or reasoning.
#[derive(Debug, Deserialize)]
struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    content: Option<Vec<ResponsesFrame<'a>>>,
}

#[derive(Debug, Deserialize)]
struct ResponsesFrame<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    refusal: Option<Text<'a>>,
}

impl Document<'_> {
    fn is_failure(&self) -> bool {
        self.error.is_some() || self.status.as_ref().is_some_and(|status| status.0 == "failed")
    }

    fn pieces(&self) -> impl Iterator<Item = (DeltaKind, &Text<'_>)> {
        self.output.iter().flatten().flat_map(|item| {
            let is_thought = item.kind.as_ref().is_some_and(|kind| kind.0 == "reasoning");
            let kind = if is_thought { DeltaKind::Reasoning } else { DeltaKind::Content };
            let parts = item.content.iter().flatten();
            parts
                .flat_map(|part| [&part.text, &part.refusal])
                .flatten()
                .map(move |text| (kind, text))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording_sink::RecordingSink;

    fn read(body: &str) -> (RecordingSink, Result<(), RequestError>) {
        let mut decoder = ResponsesDecoder::new(&Sample::new("Hi", 1, 8));
        let mut heard = RecordingSink::default();
        let read = decoder.document(body.as_bytes(), &mut heard);
        (heard, read.and_then(|()| decoder.end()))
    }

    #[test]
    fn a_whole_answer_is_read_at_once() {
        let (heard, end) = read(
            r#"{"status":"completed","error":null,"output":[{"type":"reasoning","content":[{"type":"reasoning_text","text":"Hm"}]},{"type":"message","content":[{"type":"output_text","text":"Yes"},{"type":"refusal","refusal":"No"}]}],"usage":{"input_tokens":3,"output_tokens":2,"input_tokens_details":{"cached_tokens":1}}}"#,
        );
        assert_eq!(end, Ok(()));
        let heard = format!("{heard:?}");
        for part in ["Hm", "Reasoning", "Yes", "No", "completed", "Some(1)"] {
            assert!(heard.contains(part), "{heard}");
        }
    }

    #[test]
    fn a_failure_is_told() {
        let (_, end) = read(r#"{"status":"failed","error":{"message":"boom"}}"#);
        assert_eq!(end.unwrap_err().message, "boom");
    }
}
