//! Decodes answers of `/v1/messages`, streamed or whole.
//!
//! Every event of a stream has its kind in `type`; a whole answer is a message, the same object
//! that the first event has without its content.

use std::ops::ControlFlow;

use serde::Deserialize;
use serde_json::value::RawValue;
use servemark_core::{Delta, DeltaKind, RequestError, Sample, Sink, Usage};
use servemark_sse::Event;

use crate::answer::Answer;
use crate::count::Count;
use crate::wire::{Frame, SmallList, Text, in_stream, parse};
use crate::{Decoder, Flow};

/// Decodes an answer of `/v1/messages`.
#[derive(Clone, Debug)]
pub struct AnthropicDecoder {
    answer: Answer<()>,
    /// Number of prompt tokens, which the first event contains.
    prompt: Option<u32>,
    cached: Option<u32>,
}

impl AnthropicDecoder {
    /// Returns a decoder for the answer to a sample.
    pub fn new(sample: &Sample) -> Self {
        Self { answer: Answer::to(sample), prompt: None, cached: None }
    }

    fn stream_event(&mut self, json: &[u8], out: &mut dyn Sink) -> Result<Flow, RequestError> {
        let event: StreamEvent<'_> = parse(json)?;
        match event.kind.as_ref().map(|kind| &*kind.0) {
            Some("error") => return Err(in_stream(json)),
            Some("message_start") => {
                // Registers the only choice, so that the answer is complete only when it is
                // finished.
                self.answer.choice(0);
                if let Some(counts) = event.message.and_then(|message| message.usage) {
                    self.prompt_counts(&counts, out);
                }
            }
            Some("content_block_start") => {
                let block = event.content_block.as_ref();
                return Ok(self.output(block.and_then(Block::output), out));
            }
            Some("content_block_delta") => {
                let delta = event.delta.as_ref();
                return Ok(self.output(delta.and_then(Change::output), out));
            }
            Some("message_delta") => {
                if let Some(counts) = &event.usage {
                    self.counts(counts, out);
                }
                let reason = event.delta.as_ref().and_then(|delta| delta.stop_reason.as_ref());
                if let Some(reason) = reason {
                    self.answer.finish(0, &reason.0, None, out)?;
                }
            }
            Some("message_stop") => {
                self.answer.over();
                return Ok(Flow::Done);
            }
            _ => {}
        }
        out.silent_event();
        Ok(Flow::Continue)
    }

    fn output(&mut self, output: Option<(DeltaKind, &str)>, out: &mut dyn Sink) -> Flow {
        match output.filter(|(_, text)| !text.is_empty()) {
            Some((kind, text)) => self.answer.delta(Delta::content(text).of_kind(kind), out),
            None => out.silent_event(),
        }
        Flow::Continue
    }

    /// Notes the counts of the prompt. Tokens that were read from the cache or written to it are
    /// counted apart from the others.
    fn prompt_counts(&mut self, counts: &Counts, out: &mut dyn Sink) {
        counts.input.report("input_tokens", out);
        counts.cache_read.report("cache_read_input_tokens", out);
        let (read, written) = (counts.cache_read.tokens(), counts.cache_creation.tokens());
        let all = |tokens: u32| {
            tokens.saturating_add(read.unwrap_or(0)).saturating_add(written.unwrap_or(0))
        };
        self.prompt = counts.input.tokens().map(all).or(self.prompt);
        self.cached = read.or(self.cached);
    }

    /// Reports the token counts of the whole answer.
    fn counts(&mut self, counts: &Counts, out: &mut dyn Sink) {
        if counts.input.tokens().is_some_and(|tokens| tokens > 0) {
            self.prompt_counts(counts, out);
        }
        counts.output.report("output_tokens", out);
        let mut usage = Usage::new(self.prompt, counts.output.tokens());
        usage.cached_tokens = self.cached;
        self.answer.usage(usage, out);
    }

    fn message(&mut self, json: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let message: Message<'_> = parse(json)?;
        if message.error.is_some() {
            return Err(in_stream(json));
        }
        for (kind, text) in
            message.content.iter().flat_map(SmallList::iter).filter_map(Block::output)
        {
            if !text.is_empty() {
                self.answer.delta(Delta::content(text).of_kind(kind), out);
            }
        }
        if let Some(counts) = &message.usage {
            self.prompt_counts(counts, out);
            self.counts(counts, out);
        }
        self.answer.over();
        match &message.stop_reason {
            Some(reason) => self.answer.finish(0, &reason.0, None, out),
            None => Ok(()),
        }
    }
}

impl Decoder for AnthropicDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError> {
        match self.answer.event(event)? {
            ControlFlow::Continue(json) => self.stream_event(json, out),
            ControlFlow::Break(flow) => Ok(flow),
        }
    }

    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        match Frame::of(body) {
            Frame::Json(json) => self.message(json, out),
            Frame::Blank | Frame::Done => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), RequestError> {
        self.answer.end()
    }
}

/// An event of a stream; each kind has some of the fields.
#[derive(Debug, Deserialize)]
struct StreamEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    content_block: Option<Block<'a>>,
    #[serde(borrow)]
    delta: Option<Change<'a>>,
    usage: Option<Counts>,
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Option<SmallList<Block<'a>>>,
    #[serde(borrow)]
    stop_reason: Option<Text<'a>>,
    usage: Option<Counts>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counts {
    #[serde(rename = "input_tokens")]
    input: Count,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Count,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_creation: Count,
    #[serde(rename = "output_tokens")]
    output: Count,
}

/// A part of a message: text, reasoning or a tool call.
#[derive(Debug, Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
}

impl Block<'_> {
    fn output(&self) -> Option<(DeltaKind, &str)> {
        first([
            (DeltaKind::Content, self.text.as_ref()),
            (DeltaKind::Reasoning, self.thinking.as_ref()),
            (DeltaKind::ToolCall, self.name.as_ref()),
        ])
    }
}

/// What an event adds to a part of a message, or to the message.
#[derive(Debug, Deserialize)]
struct Change<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    partial_json: Option<Text<'a>>,
    #[serde(borrow)]
    stop_reason: Option<Text<'a>>,
}

impl Change<'_> {
    fn output(&self) -> Option<(DeltaKind, &str)> {
        first([
            (DeltaKind::Content, self.text.as_ref()),
            (DeltaKind::Reasoning, self.thinking.as_ref()),
            (DeltaKind::ToolCall, self.partial_json.as_ref()),
        ])
    }
}

fn first<'a>(texts: [(DeltaKind, Option<&'a Text<'_>>); 3]) -> Option<(DeltaKind, &'a str)> {
    texts.into_iter().find_map(|(kind, text)| text.map(|text| (kind, &*text.0)))
}
