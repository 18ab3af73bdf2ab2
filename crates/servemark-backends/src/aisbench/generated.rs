//! Decodes answers of text-generation-inference and of `MindIE`: one token per event, and at the
//! end the whole text with the counts.

use std::ops::ControlFlow;

use http::HeaderMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use servemark_core::{Delta, RequestError, Sample, Sink, Usage};
use servemark_sse::Event;

use crate::answer::Answer;
use crate::count::Count;
use crate::running_text::RunningText;
use crate::server_times;
use crate::wire::{Frame, Text, in_stream, parse};
use crate::{Decoder, Flow};

/// Decodes an answer of text-generation-inference or of `MindIE`.
///
/// The text is that of a stream's tokens, or `generated_text` if there were none. AISBench uses the
/// last `generated_text` as the text and takes the time of every event; therefore an event that
/// adds nothing, because its text equals the one before, is reported as a piece without text.
#[derive(Clone, Debug)]
pub struct GeneratedDecoder {
    answer: Answer<OutputSoFar>,
}

/// The text that was read.
#[derive(Clone, Debug, Default)]
struct OutputSoFar {
    /// Whether any text came from tokens.
    by_token: bool,
    whole: RunningText,
}

impl GeneratedDecoder {
    /// Returns a decoder for the answer to a sample.
    pub fn new(sample: &Sample) -> Self {
        Self { answer: Answer::to(sample) }
    }

    fn part(&mut self, json: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let part: GeneratedFrame<'_> = parse(json)?;
        if part.error.is_some() {
            return Err(in_stream(json));
        }
        let text = part.generated_text.as_ref().map(|text| self.whole(&text.0));
        match (&part.token, text) {
            (Some(token), _) => self.token(token, out),
            (None, Some(new)) if !new.is_empty() => self.answer.delta(Delta::content(new), out),
            // AISBench takes the time of every event, including one that adds nothing.
            (None, _) => out.delta(Delta::content("")),
        }
        part.details.map_or(Ok(()), |details| self.details(&details, out))
    }

    /// Handles a token. It has no text if the server still holds the text back, or if it ends the
    /// output.
    fn token(&mut self, token: &Token<'_>, out: &mut dyn Sink) {
        let text = token.text.as_ref().filter(|_| !token.special).map_or("", |text| &text.0);
        self.answer.choice(0).by_token |= !text.is_empty();
        self.answer.delta(Delta::content(text).with_tokens(Some(token.id.count())), out);
    }

    /// Returns the new part of a text that is either all text so far or a piece.
    fn whole<'t>(&mut self, text: &'t str) -> &'t str {
        self.answer.over();
        let observed = self.answer.choice(0);
        if observed.by_token { "" } else { observed.whole.advance(text) }
    }

    fn details(&mut self, details: &Details<'_>, out: &mut dyn Sink) -> Result<(), RequestError> {
        details.generated_tokens.report("generated_tokens", out);
        if let Some(tokens) = details.generated_tokens.tokens() {
            self.answer.usage(Usage::new(None, Some(tokens)), out);
        }
        match &details.finish_reason {
            Some(Text(reason)) => self.answer.finish(0, reason, None, out),
            None => Ok(()),
        }
    }
}

impl Decoder for GeneratedDecoder {
    fn head(&mut self, headers: &HeaderMap, out: &mut dyn Sink) {
        if let Some(times) = server_times::of_tgi(headers) {
            out.server_times(times);
        }
    }

    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError> {
        match self.answer.event(event)? {
            ControlFlow::Continue(json) => self.part(json, out).map(|()| Flow::Continue),
            ControlFlow::Break(flow) => Ok(flow),
        }
    }

    /// Decodes one object, or a list that holds one.
    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let Frame::Json(json) = Frame::of(body) else { return Ok(()) };
        if !json.starts_with(b"[") {
            return self.part(json, out);
        }
        let parts: Vec<&RawValue> = parse(json)?;
        parts.iter().try_for_each(|part| self.part(part.get().as_bytes(), out))
    }

    fn end(&mut self) -> Result<(), RequestError> {
        self.answer.end()
    }
}

#[derive(Debug, Deserialize)]
struct GeneratedFrame<'a> {
    #[serde(borrow)]
    token: Option<Token<'a>>,
    #[serde(borrow)]
    generated_text: Option<Text<'a>>,
    #[serde(borrow)]
    details: Option<Details<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Token<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(default)]
    id: Ids,
    /// Whether the token is a control token rather than text.
    #[serde(default)]
    special: bool,
}

/// The id of one token, or those of several that were accepted at once.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Ids {
    Several(Vec<i64>),
    One(IgnoredAny),
}

impl Default for Ids {
    fn default() -> Self {
        Self::One(IgnoredAny)
    }
}

impl Ids {
    fn count(&self) -> u32 {
        match self {
            Self::Several(ids) => u32::try_from(ids.len()).unwrap_or(u32::MAX),
            Self::One(_) => 1,
        }
    }
}

#[derive(Debug, Deserialize)]
struct Details<'a> {
    #[serde(default)]
    generated_tokens: Count,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
}
