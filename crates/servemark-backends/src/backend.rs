//! The two traits of a dialect.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use servemark_core::{ErrorKind, ReadyRequest, RequestError, Sample, Sink};
use servemark_sse::Event;

/// A wire dialect: encodes samples as requests, and creates decoders for their answers.
pub trait Backend: Send + Sync + 'static {
    /// The decoder of an answer.
    type Decoder: Decoder;

    /// Returns the request for a sample. Called before the request is due.
    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError>;

    /// Returns a decoder for the answer to a sample.
    fn decoder(&self, sample: &Sample) -> Self::Decoder;

    /// Returns the framing of the dialect's answers. It applies only where an answer's content type
    /// names no framing.
    fn framing(&self) -> Framing {
        Framing::Events
    }
}

/// How the body of an answer is split into the units that a [`Decoder`] reads. Exhaustive: the
/// answer reader supports no other framing.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Framing {
    /// Server-sent events. A body that begins like a JSON document is read as one document.
    #[default]
    Events,
    /// Lines, each a JSON document (NDJSON). Each line is passed to [`Decoder::event`] as the data
    /// of an event.
    Lines,
    /// One document, such as a JSON object.
    Document,
}

/// Decodes one answer. It depends neither on the source of the bytes nor on time.
pub trait Decoder: Send + 'static {
    /// Reads the head of an answer with status 200, before its body. The default ignores it, for
    /// dialects that have everything in the body.
    fn head(&mut self, headers: &HeaderMap, out: &mut dyn Sink) {
        let _ = (headers, out);
    }

    /// Decodes one event of a stream, or one line of a stream of lines.
    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError>;

    /// Decodes an answer that came as one document. The default refuses it, for dialects that only
    /// stream.
    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let _ = (body, out);
        Err(RequestError::new(ErrorKind::Decode, "expected an event stream, got one document"))
    }

    /// Ends the answer. Returns an error unless it is complete.
    fn end(&mut self) -> Result<(), RequestError>;

    /// Returns the decoder as a trait object.
    fn boxed(self) -> Box<dyn Decoder>
    where
        Self: Sized,
    {
        Box::new(self)
    }
}

impl Decoder for Box<dyn Decoder> {
    fn head(&mut self, headers: &HeaderMap, out: &mut dyn Sink) {
        self.as_mut().head(headers, out);
    }

    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError> {
        self.as_mut().event(event, out)
    }

    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        self.as_mut().document(body, out)
    }

    fn end(&mut self) -> Result<(), RequestError> {
        self.as_mut().end()
    }

    fn boxed(self) -> Box<dyn Decoder> {
        self
    }
}

/// Whether a stream continues.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Flow {
    /// More events may come.
    Continue,
    /// The dialect's end mark was read; later bytes do not belong to the answer.
    Done,
}

/// A request as sent, except for the target's address and credentials.
///
/// ```
/// use servemark_backends::WireRequest;
/// use servemark_backends::bytes::Bytes;
/// use servemark_backends::http::HeaderValue;
///
/// let mut request = WireRequest::json("/pieces", &["Hi"])?;
/// request.headers.insert("x-tenant", HeaderValue::from_static("a"));
/// assert_eq!(request.body, Bytes::from_static(b"[\"Hi\"]"));
/// # Ok::<(), servemark_core::RequestError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WireRequest {
    /// The path, relative to the target's base URL.
    pub path: Cow<'static, str>,
    /// Headers of this request alone.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl WireRequest {
    /// Returns a POST request with a body, without headers.
    pub fn post(path: impl Into<Cow<'static, str>>, body: impl Into<Bytes>) -> Self {
        Self { path: path.into(), headers: HeaderMap::new(), body: body.into() }
    }

    /// Returns a POST request with a JSON document, without whitespace.
    pub fn json(
        path: impl Into<Cow<'static, str>>,
        document: &impl Serialize,
    ) -> Result<Self, RequestError> {
        let body = serde_json::to_vec(document).map_err(|error| unwritten(&error))?;
        Ok(Self::of_json(path, body))
    }

    /// Returns a POST request with a JSON document as Python's `json.dumps` writes it: with spaces
    /// after separators, and with everything beyond ASCII escaped.
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
        let mut request = Self::post(path, body);
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request
    }

    /// Returns the request as a value that a sample can hold.
    pub fn into_ready(self) -> ReadyRequest {
        let header = |(name, value): (&HeaderName, &HeaderValue)| {
            (name.as_str().to_owned(), value.as_bytes().to_owned())
        };
        let headers = self.headers.iter().map(header).collect();
        ReadyRequest::new(self.path, headers, self.body.into())
    }

    /// Returns the request of a sample that holds it; the body is not copied.
    pub(crate) fn of_ready(ready: &ReadyRequest) -> Result<Self, RequestError> {
        let body = Bytes::from_owner(ready.clone());
        Self::post(ready.path().to_owned(), body).with_header_bytes(ready.headers())
    }

    /// Adds a sample's own headers.
    pub fn with_headers(self, headers: &[(String, String)]) -> Result<Self, RequestError> {
        self.with_header_bytes(
            headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())),
        )
    }

    fn with_header_bytes<'a>(
        mut self,
        headers: impl Iterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<Self, RequestError> {
        for (name, value) in headers {
            let bad = |what: &str| {
                RequestError::new(ErrorKind::Encode, format!("header {name:?} has a bad {what}"))
            };
            let key = HeaderName::try_from(name).map_err(|_| bad("name"))?;
            let value = HeaderValue::try_from(value).map_err(|_| bad("value"))?;
            self.headers.insert(key, value);
        }
        Ok(self)
    }
}

fn unwritten(error: &serde_json::Error) -> RequestError {
    RequestError::new(ErrorKind::Encode, error.to_string())
}
