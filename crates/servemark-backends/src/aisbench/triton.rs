//! Decodes answers of Triton's generate extension: each event holds the next piece of the text.

use std::ops::ControlFlow;

use serde::Deserialize;
use serde_json::value::RawValue;
use servemark_core::{Delta, RequestError, Sample, Sink};
use servemark_sse::Event;

use crate::answer::Answer;
use crate::wire::{Frame, Text, in_stream, parse};
use crate::{Decoder, Flow};

/// Decodes an answer of Triton's generate extension. The answer has neither counts nor an end mark;
/// it ends with its body.
#[derive(Clone, Debug)]
pub struct TritonDecoder {
    answer: Answer<()>,
}

impl TritonDecoder {
    /// Returns a decoder for the answer to a sample.
    pub fn new(sample: &Sample) -> Self {
        Self { answer: Answer::to(sample) }
    }

    fn piece(&mut self, json: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let piece: Piece<'_> = parse(json)?;
        if piece.error.is_some() {
            return Err(in_stream(json));
        }
        match &piece.text_output {
            Some(Text(text)) if !text.is_empty() => self.answer.delta(Delta::content(text), out),
            // AISBench takes the time of every event, including one without text.
            _ => out.delta(Delta::content("")),
        }
        Ok(())
    }
}

impl Decoder for TritonDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError> {
        match self.answer.event(event)? {
            ControlFlow::Continue(json) => self.piece(json, out).map(|()| Flow::Continue),
            ControlFlow::Break(flow) => Ok(flow),
        }
    }

    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        match Frame::of(body) {
            Frame::Json(json) => self.piece(json, out),
            Frame::Blank | Frame::Done => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), RequestError> {
        self.answer.over();
        self.answer.end()
    }
}

#[derive(Debug, Deserialize)]
struct Piece<'a> {
    #[serde(borrow)]
    text_output: Option<Text<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}
