//! Decodes answers of OpenAI's two routes, streamed or whole.
//!
//! Text completions have their output in `choices[].text`, chat in `choices[].delta` or, whole, in
//! `choices[].message`; one decoder handles all three. The `chunk` module parses a frame; this
//! module acts on its contents.

mod chunk;

use std::ops::ControlFlow;

use servemark_core::{Delta, DeltaKind, RequestError, Sample, Sink, Usage};
use servemark_sse::Event;

use self::chunk::Chunk;
use crate::answer::{Answer, TokenCounter};
use crate::scan::Template;
use crate::wire::{Cached, Frame, believable, in_stream, parse};
use crate::{Decoder, Flow};

/// Decodes an answer of `/v1/completions` or `/v1/chat/completions`.
#[derive(Clone, Debug)]
pub struct OpenAiDecoder {
    answer: Answer<TokenCounter>,
    /// The last frame that held one piece of text and no other relevant field.
    template: Template<ChoicePosition>,
}

/// The choice and the kind of a piece.
#[derive(Clone, Copy, Debug)]
struct ChoicePosition {
    index: u32,
    kind: DeltaKind,
}

impl OpenAiDecoder {
    /// Returns a decoder for the answer to a sample.
    pub fn new(sample: &Sample) -> Self {
        Self { answer: Answer::to(sample), template: Template::default() }
    }

    /// Returns the decoder of vLLM's client: an answer without output has failed, even if no tokens
    /// were asked for.
    pub(crate) fn of_vllm(sample: &Sample) -> Self {
        Self { answer: Answer::with_output(sample), template: Template::default() }
    }

    fn chunk(&mut self, json: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        if let Some((place, text)) = self.template.read(json) {
            self.piece(place, text, None, out);
            return Ok(());
        }
        let chunk: Chunk<'_> = parse(json)?;
        if chunk.is_error() {
            return Err(in_stream(json));
        }
        chunk.report_counts(out);
        let usage = chunk.usage().and_then(believable);
        if let Some(usage) = usage {
            self.answer.usage(usage, out);
        }
        if let Some(name) = chunk.cached().and_then(Cached::storage_name) {
            out.cache_storage(name);
        }
        if let Some(times) = chunk.server_times() {
            out.server_times(times);
        }
        if let Some(output) = chunk.output() {
            let place = ChoicePosition { index: output.index, kind: output.kind };
            self.piece(place, &output.text, usage, out);
            if chunk.is_output_alone() {
                self.template.learn(json, &output.text, place);
            }
        } else if chunk.has_choices() {
            out.silent_event();
        }
        chunk
            .finish_reasons()
            .try_for_each(|(index, reason)| self.answer.finish(index, reason, None, out))
    }

    fn piece(
        &mut self,
        place: ChoicePosition,
        text: &str,
        usage: Option<Usage>,
        out: &mut dyn Sink,
    ) {
        let total = usage.and_then(|usage| usage.completion_tokens);
        // In a stream with several choices, each choice has its own running total.
        let tokens = self.answer.choice(place.index).advance(total);
        let delta = Delta::content(text).of_kind(place.kind).with_tokens(tokens);
        self.answer.delta(delta, out);
    }
}

impl Decoder for OpenAiDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError> {
        match self.answer.event(event)? {
            ControlFlow::Continue(json) => self.chunk(json, out).map(|()| Flow::Continue),
            ControlFlow::Break(flow) => Ok(flow),
        }
    }

    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        self.answer.over();
        match Frame::of(body) {
            Frame::Json(json) => self.chunk(json, out),
            Frame::Blank | Frame::Done => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), RequestError> {
        self.answer.end()
    }
}

#[cfg(test)]
mod tests;
