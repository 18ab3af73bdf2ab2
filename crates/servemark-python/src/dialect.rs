//! A wire dialect that is an object of Python.

use std::collections::BTreeMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use servemark::backends::{DeferredBackend, Framing, RawAnswer, WireRequest};
use servemark::core::{
    Arrival, Delta, DeltaKind, ErrorKind, JsonObject, Prompt, Recorder, RequestError, Sample, Sink,
    Usage,
};

use crate::json;
use crate::raised::Raised;

/// A dialect as the Python half of the package describes it. Its functions are called before the run
/// and on the thread that writes the run log.
#[derive(Debug, FromPyObject)]
pub(crate) struct Dialect {
    pub(crate) name: String,
    framing: String,
    encode: Py<PyAny>,
    decode: Py<PyAny>,
}

/// The dialect with what it raised.
#[derive(Debug)]
pub(crate) struct PythonDialect {
    dialect: Dialect,
    framing: Framing,
    /// The exception of a request that could not be encoded.
    pub(crate) unencoded: Raised,
    /// The first exception of an answer that could not be decoded.
    pub(crate) undecoded: Raised,
}

/// A request as Python reads it.
#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    prompt: &'a Prompt,
    input_tokens: u32,
    output_tokens: u32,
    adapter: Option<&'a str>,
    extra_body: &'a JsonObject,
    headers: BTreeMap<&'a str, &'a str>,
}

/// What an answer says, as Python returns it.
#[derive(FromPyObject)]
struct Decoded {
    pieces: Vec<(usize, String, Option<u32>, String)>,
    prompt_tokens: Option<u32>,
    completion_tokens: Option<u32>,
    cached_tokens: Option<u32>,
    finish_reason: Option<String>,
    error: Option<String>,
}

impl PythonDialect {
    /// Fails if the framing is none of those that there are.
    pub(crate) fn new(dialect: Dialect) -> PyResult<Self> {
        let framing = match dialect.framing.as_str() {
            "events" => Framing::Events,
            "lines" => Framing::Lines,
            "document" => Framing::Document,
            other => {
                let story =
                    format!("framing is \"events\", \"lines\" or \"document\", not {other:?}");
                return Err(PyValueError::new_err(story));
            }
        };
        let (unencoded, undecoded) = (Raised::default(), Raised::default());
        Ok(Self { dialect, framing, unencoded, undecoded })
    }

    /// Calls the function that writes a request.
    fn call_encode(&self, request: &Request<'_>) -> PyResult<(String, Headers, Vec<u8>)> {
        let request = json::text(request)?;
        Python::attach(|python| self.dialect.encode.bind(python).call1((request,))?.extract())
    }

    /// Calls the function that reads an answer, and records what it returns.
    fn call_decode(
        &self,
        answer: RawAnswer<'_>,
        out: &mut Recorder,
    ) -> PyResult<Result<(), RequestError>> {
        let sent = answer.sent();
        let (mut arrivals, mut frames) = (Vec::new(), Vec::new());
        for frame in answer.frames() {
            let nanos = u64::try_from(frame.arrival.at().since(sent).as_nanos());
            frames.push((frame.data, nanos.unwrap_or(u64::MAX), frame.event));
            arrivals.push(frame.arrival);
        }
        let error = answer.error().map(ToString::to_string);
        let decoded: Decoded = Python::attach(|python| {
            self.dialect.decode.bind(python).call1((frames, error))?.extract()
        })?;
        decoded.record(&arrivals, out)
    }
}

/// Names and values of headers.
type Headers = Vec<(String, String)>;

impl DeferredBackend for PythonDialect {
    fn encode(&self, sample: &Sample, model: &str) -> Result<WireRequest, RequestError> {
        let error = |story: String| RequestError::new(ErrorKind::Encode, story);
        if !sample.media.is_empty() || sample.audio.is_some() {
            return Err(error("a dialect in Python takes no pictures and no audio".to_owned()));
        }
        let headers = sample.headers.iter();
        let request = Request {
            model,
            prompt: &sample.prompt,
            input_tokens: sample.prompt_tokens,
            output_tokens: sample.output_tokens,
            adapter: sample.adapter.as_deref(),
            extra_body: &sample.extra_body,
            headers: headers.map(|(name, value)| (name.as_str(), value.as_str())).collect(),
        };
        let (path, headers, body) = self.call_encode(&request).map_err(|exception| {
            let story = format!("the dialect raised {exception}");
            self.unencoded.keep(exception);
            error(story)
        })?;
        WireRequest::post(path, body).with_headers(&headers)
    }

    fn decode(&self, answer: RawAnswer<'_>, out: &mut Recorder) -> Result<(), RequestError> {
        self.call_decode(answer, out).unwrap_or_else(|exception| {
            let story = format!("the dialect raised {exception}");
            // The beginning of an answer that failed may not be decodable.
            if answer.error().is_none() {
                self.undecoded.keep(exception);
            }
            Err(RequestError::new(ErrorKind::Decode, story))
        })
    }

    fn framing(&self) -> Framing {
        self.framing
    }
}

impl Decoded {
    /// Records what an answer says, whose frames have these arrivals. Fails with an exception if that
    /// is impossible, and with an error if the answer says that the request failed.
    fn record(
        self,
        arrivals: &[Arrival],
        out: &mut Recorder,
    ) -> PyResult<Result<(), RequestError>> {
        let mut last = 0;
        for (frame, text, tokens, kind) in &self.pieces {
            let Some(arrival) = arrivals.get(*frame).filter(|_| *frame >= last) else {
                let story = format!(
                    "decode returned a piece of frame {frame} after one of frame {last}, and there are \
                     {} frames",
                    arrivals.len()
                );
                return Err(PyValueError::new_err(story));
            };
            last = *frame;
            let delta = Delta::content(text).of_kind(kind_of(kind)?).with_tokens(*tokens);
            out.at(*arrival).delta(delta);
        }
        let mut out = out.at(arrivals.last().copied().unwrap_or_default());
        let usage = Usage::new(self.prompt_tokens, self.completion_tokens);
        let usage = usage.with_cached(self.cached_tokens);
        if usage != Usage::default() {
            out.usage(usage);
        }
        if let Some(reason) = &self.finish_reason {
            out.finish_reason(reason);
        }
        Ok(self.error.map_or(Ok(()), |story| Err(RequestError::new(ErrorKind::InStream, story))))
    }
}

fn kind_of(kind: &str) -> PyResult<DeltaKind> {
    match kind {
        "content" => Ok(DeltaKind::Content),
        "reasoning" => Ok(DeltaKind::Reasoning),
        "tool_call" => Ok(DeltaKind::ToolCall),
        other => {
            let story = format!("a piece is content, reasoning or tool_call, not {other:?}");
            Err(PyValueError::new_err(story))
        }
    }
}
