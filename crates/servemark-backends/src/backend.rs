//! The two traits of a dialect.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::Serialize;
use servemark_core::{ErrorKind, RequestError, Sample, Sink};
use servemark_sse::Event;

/// A wire dialect: how a sample is asked for, and who reads the answer.
pub trait Backend: Send + Sync + 'static {
    /// Reads one answer.
    type Decoder: Decoder;

    /// The request for a sample. Called before the request is due.
    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError>;

    /// A reader for the answer to a sample.
    fn decoder(&self, sample: &Sample) -> Self::Decoder;

    /// How an answer of the dialect is framed. The answer's content type decides where it names a
    /// framing; this decides where it does not.
    fn framing(&self) -> Framing {
        Framing::Events
    }
}

/// How the body of an answer is cut into what a [`Decoder`] reads. Closed: these are the framings
/// that the answer reader knows.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Framing {
    /// Server-sent events. A body that begins as a JSON document is one.
    #[default]
    Events,
    /// Lines, each with a JSON document of its own (NDJSON). Each line is handed to
    /// [`Decoder::event`] as the data of an event.
    Lines,
    /// One document.
    Document,
}

/// Reads one answer and says what is in it. It is told neither where the bytes come from nor when.
pub trait Decoder: Send + 'static {
    /// Reads one event of a stream, or one line of a stream of lines.
    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError>;

    /// Reads an answer that came as one document. A dialect that only streams leaves this out.
    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let _ = (body, out);
        Err(RequestError::new(ErrorKind::Decode, "expected an event stream, got one document"))
    }

    /// The answer is over: says whether what was read is a whole one.
    fn end(&mut self) -> Result<(), RequestError>;
}

/// Whether a stream goes on. Closed: it does or it does not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Flow {
    /// More may come.
    Continue,
    /// The dialect's end mark was read; what follows is not ours.
    Done,
}

/// A request as it goes on the wire, except for what belongs to the target: its address and its
/// credentials.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WireRequest {
    /// The path, from the target's base.
    pub path: Cow<'static, str>,
    /// Headers of this request alone.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl WireRequest {
    /// A POST of a JSON document.
    pub fn json(
        path: impl Into<Cow<'static, str>>,
        document: &impl Serialize,
    ) -> Result<Self, RequestError> {
        let body = serde_json::to_vec(document).map_err(|error| unwritten(&error))?;
        Ok(Self::of_json(path, body))
    }

    /// The same as Python's `json.dumps` writes it: with blanks between, and all that is beyond
    /// ASCII escaped.
    pub fn python(
        path: impl Into<Cow<'static, str>>,
        document: &impl Serialize,
    ) -> Result<Self, RequestError> {
        let mut body = Vec::new();
        servemark_pyjson::to_writer(document, servemark_pyjson::Text::Ascii, &mut body)
            .map_err(|error| unwritten(&error))?;
        Ok(Self::of_json(path, body))
    }

    fn of_json(path: impl Into<Cow<'static, str>>, body: Vec<u8>) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self { path: path.into(), headers, body: body.into() }
    }

    /// The same request with a sample's own headers.
    pub fn with_headers(mut self, headers: &[(String, String)]) -> Result<Self, RequestError> {
        for (name, value) in headers {
            let bad = |what: &str| {
                RequestError::new(ErrorKind::Encode, format!("header {name:?} has a bad {what}"))
            };
            let key = http::HeaderName::try_from(name.as_str()).map_err(|_| bad("name"))?;
            let value = HeaderValue::try_from(value.as_str()).map_err(|_| bad("value"))?;
            self.headers.insert(key, value);
        }
        Ok(self)
    }
}

fn unwritten(error: &serde_json::Error) -> RequestError {
    RequestError::new(ErrorKind::Encode, error.to_string())
}
