//! `DashScope`'s own route for texts: requests and answers.
//!
//! evalscope 1.14.1 builds such bodies but never sends them. Every event holds the text so far or,
//! with `incremental_output`, a piece.

use std::ops::ControlFlow;

use serde::Deserialize;
use serde_json::Value;
use servemark_core::{Delta, DeltaKind, JsonObject, Prompt, RequestError, Sample, Sink, Usage};
use servemark_sse::Event;

use super::body::{Filling, only};
use super::{EvalscopeSpec, value_of};
use crate::answer::{Answer, TokenCounter};
use crate::count::Count;
use crate::payload::cannot_say;
use crate::running_text::RunningText;
use crate::wire::{Few, Frame, Text, in_stream, parse};
use crate::{Decoder, Flow};

/// Returns a body with the prompt under `input` and the parameters, including the run's additional
/// keys, under `parameters`.
pub(super) fn body(spec: &EvalscopeSpec, sample: &Sample) -> Result<JsonObject, RequestError> {
    let (Prompt::Messages(_) | Prompt::Text(_) | Prompt::Lazy(_)) = &sample.prompt else {
        return Err(cannot_say(&sample.prompt, spec.path()));
    };
    let key = if sample.prompt.text().is_some() { "prompt" } else { "messages" };
    let mut body = spec.query_template.clone().unwrap_or_default();
    let mut input = take(&mut body, "input");
    input.insert(key.to_owned(), value_of(sample, spec.path())?);
    let parameters = take(&mut body, "parameters");
    let filling = Filling::replacing(only("input", input.into())).with_model(spec, sample);
    let mut filled = filling.with("parameters", parameters_of(spec, sample, parameters)).finish();
    filled.extend(body);
    Ok(filled)
}

/// Returns the header that requests a stream.
pub(super) fn streamed() -> [(String, String); 1] {
    [("X-DashScope-SSE".to_owned(), "enable".to_owned())]
}

fn parameters_of(spec: &EvalscopeSpec, sample: &Sample, given: JsonObject) -> JsonObject {
    let sampling = &spec.sampling;
    Filling::replacing(given)
        .with("max_tokens", sample.output_tokens)
        .with_some("frequency_penalty", sampling.frequency_penalty)
        .with_some("logprobs", sampling.logprobs)
        .with_some("n", sampling.choices)
        .with_some("seed", sampling.seed)
        .with_some("stop", sampling.stop.clone())
        .with_some("stream", (!spec.common.stream).then_some(false))
        .with("temperature", sampling.temperature)
        .with_some("top_p", sampling.top_p)
        .with_extra(spec)
}

/// Removes an object from a template and returns it.
fn take(body: &mut JsonObject, key: &str) -> JsonObject {
    match body.shift_remove(key) {
        Some(Value::Object(object)) => object,
        _ => JsonObject::new(),
    }
}

/// Decodes an answer of `DashScope`'s own route.
#[derive(Clone, Debug)]
pub struct DashscopeDecoder {
    answer: Answer<Choice>,
}

/// The progress of a choice.
#[derive(Clone, Debug, Default)]
struct Choice {
    reasoning: RunningText,
    content: RunningText,
    tokens: TokenCounter,
}

impl DashscopeDecoder {
    /// Returns a decoder for the answer to a sample.
    pub fn new(sample: &Sample) -> Self {
        Self { answer: Answer::to(sample) }
    }

    fn part(&mut self, json: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let part: DashscopeFrame<'_> = parse(json)?;
        let Some(output) = &part.output else { return Err(in_stream(json)) };
        if let Some(counts) = &part.usage {
            counts.input_tokens.report("input_tokens", out);
            counts.output_tokens.report("output_tokens", out);
        }
        if let Some(usage) = part.usage() {
            self.answer.usage(usage, out);
        }
        let total = part.usage.as_ref().and_then(|usage| usage.output_tokens.tokens());
        for (index, kind, text) in output.pieces() {
            self.piece(index, kind, text, total, out);
        }
        for (index, reason) in output.ends() {
            self.answer.finish(index, reason, None, out)?;
        }
        Ok(())
    }

    fn piece(
        &mut self,
        index: u32,
        kind: DeltaKind,
        text: &str,
        total: Option<u32>,
        out: &mut dyn Sink,
    ) {
        let choice = self.answer.choice(index);
        let running = match kind {
            DeltaKind::Reasoning => &mut choice.reasoning,
            _ => &mut choice.content,
        };
        let new = running.advance(text);
        if !new.is_empty() {
            let tokens = choice.tokens.advance(total);
            self.answer.delta(Delta::content(new).of_kind(kind).with_tokens(tokens), out);
        }
    }
}

impl Decoder for DashscopeDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError> {
        match self.answer.event(event)? {
            ControlFlow::Continue(json) => self.part(json, out).map(|()| Flow::Continue),
            ControlFlow::Break(flow) => Ok(flow),
        }
    }

    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        self.answer.over();
        match Frame::of(body) {
            Frame::Json(json) => self.part(json, out),
            Frame::Blank | Frame::Done => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), RequestError> {
        self.answer.end()
    }
}

/// An event, or a whole document. Without an output it is an error message.
#[derive(Debug, Deserialize)]
struct DashscopeFrame<'a> {
    #[serde(borrow)]
    output: Option<Output<'a>>,
    usage: Option<Counts>,
}

impl DashscopeFrame<'_> {
    fn usage(&self) -> Option<Usage> {
        let counts = self.usage.as_ref()?;
        Some(Usage::new(counts.input_tokens.tokens(), counts.output_tokens.tokens()))
    }
}

#[derive(Debug, Deserialize)]
struct Counts {
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
}

/// A text with its finish reason, or choices that have both.
#[derive(Debug, Deserialize)]
struct Output<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
    #[serde(borrow)]
    choices: Option<Few<DashscopeChoice<'a>>>,
}

#[derive(Debug, Deserialize)]
struct DashscopeChoice<'a> {
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    reasoning_content: Option<Text<'a>>,
    #[serde(borrow)]
    content: Option<Text<'a>>,
}

impl Output<'_> {
    fn pieces(&self) -> impl Iterator<Item = (u32, DeltaKind, &str)> {
        let alone = self.text.iter().map(|text| (0, DeltaKind::Content, &*text.0));
        alone.chain(self.choices().flat_map(|(index, choice)| {
            choice.pieces().map(move |(kind, text)| (index, kind, text))
        }))
    }

    /// Returns the finish reasons. An unfinished choice has the string `null` for a reason.
    fn ends(&self) -> impl Iterator<Item = (u32, &str)> {
        let alone = self.finish_reason.iter().map(|reason| (0, reason));
        let each =
            self.choices().filter_map(|(at, choice)| Some((at, choice.finish_reason.as_ref()?)));
        let all = alone.chain(each).map(|(index, reason)| (index, &*reason.0));
        all.filter(|(_, reason)| *reason != "null")
    }

    fn choices(&self) -> impl Iterator<Item = (u32, &DashscopeChoice<'_>)> {
        (0..).zip(self.choices.iter().flat_map(Few::iter))
    }
}

impl DashscopeChoice<'_> {
    fn pieces(&self) -> impl Iterator<Item = (DeltaKind, &str)> {
        let texts = self.message.iter().flat_map(|message| {
            [
                (DeltaKind::Reasoning, &message.reasoning_content),
                (DeltaKind::Content, &message.content),
            ]
        });
        texts.filter_map(|(kind, text)| Some((kind, &*text.as_ref()?.0)))
    }
}

#[cfg(test)]
mod tests;
