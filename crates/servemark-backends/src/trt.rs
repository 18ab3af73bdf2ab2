//! TensorRT-LLM behind Triton, on `/v2/models/ensemble/generate_stream`: requests and answers.
//!
//! The order and the presence of the keys are those of SGLang 0.5.23's `benchmark/serving.py`. An
//! answer has neither counts nor an end mark; it ends with its body.

use std::borrow::Cow;
use std::mem;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use servemark_core::{Delta, RequestError, Sample, Sink};
use servemark_sse::Event;

use crate::answer::Answer;
use crate::payload::{Payload, as_it_stands};
use crate::route::Dialect;
use crate::running_text::RunningText;
use crate::wire::{Frame, Text, in_stream, parse};
use crate::{Backend, CommonSpec, Decoder, Flow, Route, WireRequest};

impl Route {
    /// Triton's route for the model `ensemble`.
    pub const TRT: Self = Self::at("/v2/models/ensemble/generate_stream").with_passed_messages();
}

/// The options of Triton's route.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TrtSpec {
    /// The options that all dialects share. The route always streams, and its path names the model.
    #[serde(flatten)]
    pub common: CommonSpec,
}

impl TrtSpec {
    /// Returns a spec with these options.
    pub fn new(common: CommonSpec) -> Self {
        Self { common }
    }
}

impl Dialect for TrtSpec {
    fn route(&self) -> Route {
        Route::TRT
    }
}

impl Backend for TrtSpec {
    type Decoder = TrtDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let common = &self.common;
        let path = Route::TRT.path();
        let mut body = Payload::default()
            .with("accumulate_tokens", true)
            .with("text_input", as_it_stands(&sample.prompt, path)?)
            .with("temperature", 1e-6)
            .with("top_p", 1.0)
            .with("max_tokens", sample.output_tokens)
            .with("stream", true)
            .with("min_length", sample.output_tokens)
            .with("end_id", NO_TOKEN)
            .with_all(common.extra_for(sample));
        if !common.ignore_eos {
            // This also removes keys of these names that the user added, as SGLang's client does.
            body = body.without("min_length").without("end_id");
        }
        WireRequest::json(path, &body.into_object())?.with_headers(&sample.headers)
    }

    fn decoder(&self, sample: &Sample) -> TrtDecoder {
        TrtDecoder { answer: Answer::to(sample) }
    }
}

/// Decodes an answer of Triton's route.
///
/// With `accumulate_tokens`, every event holds all text so far, and only its new part is output;
/// SGLang's client appends the whole text of each event instead. A server that ignores the setting
/// sends pieces.
#[derive(Clone, Debug)]
pub struct TrtDecoder {
    answer: Answer<Output>,
}

/// The text so far, and the number of events since then that repeat it or are an equal piece.
#[derive(Clone, Debug, Default)]
struct Output {
    text: RunningText,
    repeats: usize,
}

impl Output {
    /// Returns the new text of an event, if the event is a piece of output.
    ///
    /// As long as it is unknown whether events hold all text so far or pieces, an event that
    /// repeats the text is reported as a piece without text. The first event that shows that they
    /// hold pieces is reported with the text of those events before its own.
    fn advance<'a>(&mut self, text: &'a str) -> Option<Cow<'a, str>> {
        if self.text.may_repeat(text) {
            self.repeats += 1;
            return Some("".into());
        }
        let new = self.text.advance(text);
        let repeats = mem::take(&mut self.repeats);
        if self.text.has_pieces() && repeats > 0 {
            return Some((self.text.pending_text().repeat(repeats) + new).into());
        }
        (!new.is_empty()).then_some(new.into())
    }
}

impl TrtDecoder {
    fn frame(&mut self, json: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let part: TrtFrame<'_> = parse(json)?;
        if part.error.is_some() {
            return Err(in_stream(json));
        }
        let text = part.text_output.as_ref().map_or("", |text| &text.0);
        let output = self.answer.choice(0);
        let new = output.advance(text);
        if output.text.is_restated() {
            out.restated();
        }
        if let Some(new) = new {
            self.answer.delta(Delta::content(&new), out);
        }
        Ok(())
    }
}

impl Decoder for TrtDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError> {
        match self.answer.event(event)? {
            ControlFlow::Continue(json) => self.frame(json, out).map(|()| Flow::Continue),
            ControlFlow::Break(flow) => Ok(flow),
        }
    }

    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        match Frame::of(body) {
            Frame::Json(json) => self.frame(json, out),
            Frame::Blank | Frame::Done => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), RequestError> {
        self.answer.over();
        self.answer.end()
    }
}

#[derive(Debug, Deserialize)]
struct TrtFrame<'a> {
    #[serde(borrow)]
    text_output: Option<Text<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// An end token's id that no vocabulary contains.
const NO_TOKEN: u32 = 1 << 20;
