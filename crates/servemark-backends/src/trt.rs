//! TensorRT-LLM behind Triton, on `/v2/models/ensemble/generate_stream`: how a sample is asked for
//! and how the stream is read.
//!
//! The order and the presence of the keys are SGLang 0.5.23's `benchmark/serving.py`. An answer has
//! neither counts nor an end mark; it is over when its body is.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use servemark_core::{Delta, RequestError, Sample, Sink};
use servemark_sse::Event;

use crate::answer::Answer;
use crate::payload::{Payload, text_of};
use crate::running_text::RunningText;
use crate::wire::{Frame, Text, in_stream, parse};
use crate::{Backend, CommonSpec, Decoder, Flow, Route, WireRequest};

/// The knobs of Triton's route.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TrtSpec {
    /// What every dialect is told. The route always streams, and its path names the model.
    #[serde(flatten)]
    pub common: CommonSpec,
}

impl TrtSpec {
    /// A stream, as ever.
    pub fn new(common: CommonSpec) -> Self {
        Self { common }
    }
}

/// The codec of Triton's route.
#[derive(Clone, Debug, PartialEq)]
pub struct TrtBackend {
    spec: TrtSpec,
}

impl TrtBackend {
    /// A codec with these knobs.
    pub fn new(spec: TrtSpec) -> Self {
        Self { spec }
    }
}

impl Backend for TrtBackend {
    type Decoder = TrtDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let common = &self.spec.common;
        let path = Route::Trt.path();
        let mut body = Payload::default()
            .with("accumulate_tokens", true)
            .with("text_input", text_of(&sample.prompt, path)?)
            .with("temperature", 1e-6)
            .with("top_p", 1.0)
            .with("max_tokens", sample.output_tokens)
            .with("stream", true)
            .with("min_length", sample.output_tokens)
            .with("end_id", NO_TOKEN)
            .with_all(common.extra_for(sample));
        if !common.ignore_eos {
            // The user's own too, as with SGLang.
            body = body.without("min_length").without("end_id");
        }
        WireRequest::json(path, &body.into_object())?.with_headers(&sample.headers)
    }

    fn decoder(&self, sample: &Sample) -> TrtDecoder {
        TrtDecoder { answer: Answer::to(sample) }
    }
}

/// Reads an answer of Triton's route.
///
/// With `accumulate_tokens` every event holds all text so far, of which only what is new is output;
/// SGLang's client adds the whole of each to the text.
#[derive(Clone, Debug)]
pub struct TrtDecoder {
    answer: Answer<RunningText>,
}

impl TrtDecoder {
    fn frame(&mut self, json: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let part: Part<'_> = parse(json)?;
        if part.error.is_some() {
            return Err(in_stream(json));
        }
        let text = part.text_output.as_ref().map_or("", |text| &text.0);
        let new = self.answer.choice(0).advance(text);
        if !new.is_empty() {
            self.answer.delta(Delta::content(new), out);
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
struct Part<'a> {
    #[serde(borrow)]
    text_output: Option<Text<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// An end-of-text token that no vocabulary has.
const NO_TOKEN: u32 = 1 << 20;
