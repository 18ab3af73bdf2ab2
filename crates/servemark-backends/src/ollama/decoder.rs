//! Decodes Ollama's answers, streamed line by line or whole; a document is the same object as a
//! line.

use std::borrow::Cow;
use std::ops::ControlFlow;

use serde::Deserialize;
use serde_json::value::RawValue;
use servemark_core::{Delta, DeltaKind, RequestError, Sample, ServerTimes, Sink, Usage};
use servemark_sse::Event;

use crate::answer::Answer;
use crate::count::Count;
use crate::wire::{Few, Frame, Text, in_stream, parse};
use crate::{Decoder, Flow};

/// Decodes an answer of `/api/chat` or `/api/generate`.
#[derive(Clone, Debug)]
pub struct OllamaDecoder {
    answer: Answer<()>,
}

impl OllamaDecoder {
    /// Returns a decoder for the answer to a sample.
    pub fn new(sample: &Sample) -> Self {
        Self { answer: Answer::to(sample) }
    }

    fn line(&mut self, json: &[u8], out: &mut dyn Sink) -> Result<Flow, RequestError> {
        let line: Line<'_> = parse(json)?;
        if line.error.is_some() {
            return Err(in_stream(json));
        }
        match line.output() {
            Some((kind, text)) => {
                // Registers the only choice, so that the answer is complete only when it is
                // finished.
                self.answer.choice(0);
                self.answer.delta(Delta::content(&text).of_kind(kind), out);
            }
            None => out.silent_event(),
        }
        if !line.done {
            return Ok(Flow::Continue);
        }
        self.decode_last_line(&line, out)?;
        Ok(Flow::Done)
    }

    /// Handles the last line, the only one with counts and times.
    fn decode_last_line(
        &mut self,
        line: &Line<'_>,
        out: &mut dyn Sink,
    ) -> Result<(), RequestError> {
        line.prompt_eval_count.report("prompt_eval_count", out);
        line.eval_count.report("eval_count", out);
        if let Some(usage) = line.usage() {
            self.answer.usage(usage, out);
        }
        if let Some(times) = line.server_times() {
            out.server_times(times);
        }
        self.answer.over();
        match &line.done_reason {
            Some(reason) => self.answer.finish(0, &reason.0, None, out),
            None => Ok(()),
        }
    }
}

impl Decoder for OllamaDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError> {
        match self.answer.event(event)? {
            ControlFlow::Continue(json) => self.line(json, out),
            ControlFlow::Break(flow) => Ok(flow),
        }
    }

    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        match Frame::of(body) {
            Frame::Json(json) => self.line(json, out).map(drop),
            Frame::Blank | Frame::Done => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), RequestError> {
        self.answer.end()
    }
}

/// A line of either route. `/api/generate` has its text in `response`, `/api/chat` in `message`.
#[derive(Debug, Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    response: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(default)]
    done: bool,
    #[serde(borrow)]
    done_reason: Option<Text<'a>>,
    #[serde(default)]
    prompt_eval_count: Count,
    #[serde(default)]
    eval_count: Count,
    load_duration: Option<f64>,
    prompt_eval_duration: Option<f64>,
    eval_duration: Option<f64>,
    total_duration: Option<f64>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    tool_calls: Option<Few<ToolCall<'a>>>,
}

#[derive(Debug, Deserialize)]
struct ToolCall<'a> {
    #[serde(borrow)]
    function: Option<Function<'a>>,
}

/// A function call. Its arguments are a JSON object, unlike the string of OpenAI's API.
#[derive(Debug, Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl Line<'_> {
    /// Returns what the line adds to the output, as one piece. A line with several kinds of text
    /// has the last of them, because the earlier kind ends with it.
    fn output(&self) -> Option<(DeltaKind, Cow<'_, str>)> {
        let mut pieces = self.pieces().filter(|(_, text)| !text.is_empty());
        let (kind, text) = pieces.next()?;
        let first = (kind, Cow::Borrowed(text));
        Some(pieces.fold(first, |(_, texts), (kind, text)| (kind, texts + text)))
    }

    fn pieces(&self) -> impl Iterator<Item = (DeltaKind, &str)> {
        let message = self.message.as_ref();
        let thinking = [self.thinking.as_ref(), message.and_then(|it| it.thinking.as_ref())];
        let content = [self.response.as_ref(), message.and_then(|it| it.content.as_ref())];
        let calls = message.and_then(|it| it.tool_calls.as_ref());
        let calls = calls.into_iter().flat_map(Few::iter).flat_map(ToolCall::pieces);
        of_kind(DeltaKind::Reasoning, thinking)
            .into_iter()
            .chain(of_kind(DeltaKind::Content, content))
            .chain(calls.map(|text| (DeltaKind::ToolCall, text)))
    }

    /// Returns the counts. A prompt that was entirely in the cache has none.
    fn usage(&self) -> Option<Usage> {
        let (prompt, output) = (self.prompt_eval_count.tokens(), self.eval_count.tokens());
        (prompt.is_some() || output.is_some()).then(|| Usage::new(prompt, output))
    }

    /// Returns the server's times, sent in nanoseconds: the time to load the model or to wait for
    /// it, the times to process the prompt and to generate the answer, and the whole time.
    fn server_times(&self) -> Option<ServerTimes> {
        let ms = |nanos: Option<f64>| nanos.map(|nanos| nanos / 1e6);
        let (queue, ttft) = (ms(self.load_duration), ms(self.prompt_eval_duration));
        let times = ServerTimes::new(queue, ttft)
            .with_decode(ms(self.eval_duration))
            .with_total(ms(self.total_duration));
        (!times.is_empty()).then_some(times)
    }
}

fn of_kind<'a>(kind: DeltaKind, texts: [Option<&'a Text<'_>>; 2]) -> [(DeltaKind, &'a str); 2] {
    texts.map(|text| (kind, text.map_or("", |text| &*text.0)))
}

impl ToolCall<'_> {
    fn pieces(&self) -> impl Iterator<Item = &str> {
        self.function.iter().flat_map(|function| {
            let name = function.name.as_ref().map(|name| &*name.0);
            name.into_iter().chain(function.arguments.map(RawValue::get))
        })
    }
}
