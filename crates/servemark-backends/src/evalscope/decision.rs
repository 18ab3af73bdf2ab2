//! Decisions: a state and one typed question, answered by the probability of each label.
//!
//! Requests are whole bodies from the user, to which only the model is added. Questions and answers
//! are validated by the rules of evalscope 1.14.1 (`models/utils/decision.py`): an answer that does
//! not fit its question is a failure.

mod answer;
mod question;

use serde_json::Value;
use servemark_core::{ErrorKind, JsonObject, Prompt, RequestError, Sample, Sink, Usage};
use servemark_sse::Event;

use self::question::Question;
use super::{EvalscopeApi, EvalscopeSpec};
use crate::items::no_stream;
use crate::payload::cannot_say;
use crate::wire::{Frame, in_stream, parse};
use crate::{Decoder, Flow};

/// Returns the body of a request after checking that it asks one question.
pub(super) fn body(spec: &EvalscopeSpec, sample: &Sample) -> Result<JsonObject, RequestError> {
    let Prompt::Body(body) = &sample.prompt else {
        return Err(cannot_say(&sample.prompt, spec.path()));
    };
    let refuse = |why: String| RequestError::new(ErrorKind::Encode, why);
    if let Some(key) = FORBIDDEN.into_iter().find(|key| body.contains_key(*key)) {
        return Err(refuse(format!("a decision takes no {key}; leave it out of the request")));
    }
    let mut body = body.clone();
    if spec.api == EvalscopeApi::Systemone {
        let model = || spec.common.model.as_str().into();
        body.entry("model").or_insert_with(model);
    }
    Question::of(&body, spec.api).map_err(refuse)?;
    Ok(body)
}

/// Parameters of text generation, which decisions do not accept.
const FORBIDDEN: [&str; 6] = ["stream", "temperature", "top_p", "top_k", "max_tokens", "n"];

/// Decodes a decision: one document, which must fit its question.
#[derive(Clone, Debug)]
pub struct DecisionDecoder {
    api: EvalscopeApi,
    /// The question; `None` for an invalid request, which is never sent.
    question: Option<Question>,
    is_read: bool,
}

impl DecisionDecoder {
    pub(super) fn new(sample: &Sample, api: EvalscopeApi) -> Self {
        let question = match &sample.prompt {
            Prompt::Body(body) => Question::of(body, api).ok(),
            _ => None,
        };
        Self { api, question, is_read: false }
    }

    fn read(&mut self, json: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let document: JsonObject = parse(json)?;
        if document.contains_key("error") {
            return Err(in_stream(json));
        }
        let unfit = |why: String| {
            RequestError::new(ErrorKind::Decode, format!("this is no valid decision: {why}"))
        };
        let question = self.question.as_ref().ok_or_else(|| unfit("nothing was asked".into()))?;
        answer::check(&document, question, self.api).map_err(unfit)?;
        if let Some(usage) = usage(&document).map_err(unfit)? {
            out.usage(usage);
        }
        self.is_read = true;
        Ok(())
    }
}

impl Decoder for DecisionDecoder {
    fn event(&mut self, _event: Event<'_>, _out: &mut dyn Sink) -> Result<Flow, RequestError> {
        Err(no_stream())
    }

    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        match Frame::of(body) {
            Frame::Json(json) => self.read(json, out),
            Frame::Blank | Frame::Done => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), RequestError> {
        let empty = || RequestError::new(ErrorKind::Empty, "the answer holds no decision");
        self.is_read.then_some(()).ok_or_else(empty)
    }
}

/// Returns the server's counts, under the names of either kind of API.
fn usage(document: &JsonObject) -> Result<Option<Usage>, String> {
    let usage = match document.get("usage") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(usage)) => usage,
        Some(_) => return Err("its usage is no object".to_owned()),
    };
    let count = |names: [&str; 2]| {
        let Some(value) = names.iter().find_map(|name| usage.get(*name)) else { return Ok(0) };
        let whole = value.as_u64().and_then(|count| u32::try_from(count).ok());
        whole.ok_or_else(|| format!("{value} is no count of tokens"))
    };
    let prompt = count(["input_tokens", "prompt_tokens"])?;
    let output = count(["output_tokens", "completion_tokens"])?;
    Ok(Some(Usage::new(Some(prompt), Some(output))))
}
