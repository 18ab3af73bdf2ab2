//! Decodes answers of SGLang's `/generate`, streamed or whole.
//!
//! Every frame has the counts of the whole answer so far, so every piece has a token count. The
//! `part` module parses a frame, and the `running_text` module finds the new part of its text.

use std::ops::ControlFlow;

use servemark_core::{Delta, RequestError, Sample, Sink, Usage};
use servemark_sse::Event;

use super::growing::{FrameTemplate, NewParts};
use super::part::GenerateFrame;
use crate::answer::{Answer, TokenCounter};
use crate::running_text::RunningText;
use crate::server_times;
use crate::wire::{Cached, Frame, believable, in_stream, parse};
use crate::{Decoder, Flow};

/// Decodes an answer of `/generate`.
#[derive(Clone, Debug)]
pub struct GenerateDecoder {
    answer: Answer<Progress>,
    /// Boxed to keep decoders small.
    last: Box<Last>,
}

/// The last frame that held nothing but growing fields.
#[derive(Clone, Debug, Default)]
struct Last {
    growing: FrameTemplate,
    index: u32,
    usage: Option<Usage>,
}

/// The progress of a choice.
#[derive(Clone, Debug, Default)]
struct Progress {
    tokens: TokenCounter,
    text: RunningText,
    verify_steps: Option<u32>,
}

impl GenerateDecoder {
    /// Returns a decoder for the answer to a sample.
    pub fn new(sample: &Sample) -> Self {
        Self { answer: Answer::to(sample), last: Box::default() }
    }

    /// Whether the answer is finished.
    pub(crate) fn is_finished(&self) -> bool {
        self.answer.has_finished()
    }

    fn frame(&mut self, json: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        if let Some(grown) = self.last.growing.read(json) {
            self.grow(&grown, out);
            return Ok(());
        }
        self.last.growing.forget();
        let part: GenerateFrame<'_> = parse(json)?;
        if part.is_error() {
            return Err(in_stream(json));
        }
        let index = part.index.unwrap_or(0);
        // The last frame reports all times.
        if part.finish_reason().is_some()
            && let Some(times) = server_times::of_generate(json)
        {
            out.server_times(times);
        }
        self.part(index, &part, out)?;
        if part.is_growing() && self.answer.choice(index).text.is_at(part.text()) {
            self.last.index = index;
            self.last.usage = self.usage(&part).and_then(believable);
            self.last.growing.learn(json);
        }
        Ok(())
    }

    /// Handles a frame that differs from the one before it only in its growing fields.
    fn grow(&mut self, grown: &NewParts<'_>, out: &mut dyn Sink) {
        let choice = self.answer.choice(self.last.index);
        let tokens = choice.tokens.advance(Some(grown.tokens));
        let text = choice.text.grow(&grown.text);
        self.piece(text, tokens, out);
        if let Some(mut usage) = self.last.usage {
            usage.completion_tokens = Some(self.total());
            out.usage(usage);
        }
    }

    /// Decodes a document of several choices: a list whose items have no index of their own.
    fn list(&mut self, json: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let parts: Vec<GenerateFrame<'_>> = parse(json)?;
        if let Some(times) = server_times::of_generate(json) {
            out.server_times(times);
        }
        (0..).zip(&parts).try_for_each(|(index, part)| self.part(index, part, out))
    }

    fn part(
        &mut self,
        index: u32,
        part: &GenerateFrame<'_>,
        out: &mut dyn Sink,
    ) -> Result<(), RequestError> {
        self.output(index, part, out);
        part.report_counts(out);
        let steps = part.meta_info.as_ref().and_then(|info| info.spec_verify_ct.tokens());
        if let Some(steps) = steps {
            self.answer.choice(index).verify_steps = Some(steps);
        }
        if let Some(usage) = self.usage(part) {
            self.answer.usage(usage, out);
        }
        if let Some(name) = part.cached().and_then(Cached::storage_name) {
            out.cache_storage(name);
        }
        let Some((reason, message)) = part.finish_reason() else { return Ok(()) };
        self.answer.finish(index, reason, message, out)
    }

    fn output(&mut self, index: u32, part: &GenerateFrame<'_>, out: &mut dyn Sink) {
        let total = part.completion_tokens();
        if part.text().is_empty() && total.is_none() {
            return;
        }
        let choice = self.answer.choice(index);
        let tokens = choice.tokens.advance(total);
        if part.ids_are_a_piece(tokens) {
            choice.text.is_in_pieces();
        }
        let text = choice.text.advance(part.text());
        self.piece(text, tokens, out);
    }

    fn piece(&mut self, text: &str, tokens: Option<u32>, out: &mut dyn Sink) {
        if !text.is_empty() || tokens > Some(0) {
            self.answer.delta(Delta::content(text).with_tokens(tokens), out);
        }
    }

    /// Returns the counts so far. Each choice counts its own output, so these counts are added up.
    fn usage(&self, part: &GenerateFrame<'_>) -> Option<Usage> {
        let info = part.meta_info.as_ref()?;
        let output = info.completion_tokens.tokens().map(|_| self.total());
        let details = part.cached().map(Cached::details);
        let usage = Usage::new(info.prompt_tokens.tokens(), output)
            .with_cached(info.cached_tokens.tokens());
        Some(usage.with_cached_details(details).with_verify_steps(self.verify_steps()))
    }
}

impl GenerateDecoder {
    /// Returns the number of output tokens in all choices.
    fn total(&self) -> u32 {
        let totals = self.answer.choices().map(|choice| choice.tokens.total());
        totals.fold(0, u32::saturating_add)
    }

    /// Returns the number of verification steps of all choices that report one.
    fn verify_steps(&self) -> Option<u32> {
        let known = self.answer.choices().filter_map(|choice| choice.verify_steps);
        known.reduce(u32::saturating_add)
    }
}

impl Decoder for GenerateDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError> {
        match self.answer.event(event)? {
            ControlFlow::Continue(json) => self.frame(json, out).map(|()| Flow::Continue),
            ControlFlow::Break(flow) => Ok(flow),
        }
    }

    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        self.answer.over();
        match Frame::of(body) {
            Frame::Json(json) if json.starts_with(b"[") => self.list(json, out),
            Frame::Json(json) => self.frame(json, out),
            Frame::Blank | Frame::Done => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), RequestError> {
        self.answer.end()
    }
}

#[cfg(test)]
mod tests;
