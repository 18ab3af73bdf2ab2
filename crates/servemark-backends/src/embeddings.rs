//! OpenAI's `/v1/embeddings`: requests for the vectors of one or several texts, and their answers.
//!
//! The order of the keys is that of SGLang 0.5.23's `benchmark/serving.py`; the format and the
//! dimensions are additions, which are sent only if they are set. The numbers in the vectors are
//! ignored: only their count and their format are checked.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::json;
use servemark_core::{ErrorKind, Prompt, RequestError, Sample, Sink};
use servemark_sse::Event;

use crate::items::{expect, items, no_stream};
use crate::payload::{Payload, as_it_stands};
use crate::route::Dialect;
use crate::wire::Frame;
use crate::{Backend, CommonSpec, Decoder, Flow, Framing, Route, WireRequest};

impl Route {
    /// OpenAI's route for embeddings.
    pub const EMBEDDINGS: Self =
        Self::at("/v1/embeddings").with_ids().with_passed_messages().with_scores();
}

/// The options of `/v1/embeddings`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EmbeddingsSpec {
    /// The options that all dialects share. Nothing is streamed, as an answer is one document.
    #[serde(flatten)]
    pub common: CommonSpec,
    /// The format of the vectors; the server's default if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding_format: Option<EncodingFormat>,
    /// The number of dimensions of the vectors; the model's own if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<u32>,
}

impl EmbeddingsSpec {
    /// Returns a spec with the server's default format.
    pub fn new(common: CommonSpec) -> Self {
        Self { common, encoding_format: None, dimensions: None }
    }
}

/// The format of vectors. Exhaustive: OpenAI's API has two.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EncodingFormat {
    /// The bytes of the numbers in base64, about a third of the length of decimals.
    Base64,
    /// Numbers in decimal.
    Float,
}

impl EncodingFormat {
    /// Returns the format's name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Base64 => "base64",
            Self::Float => "float",
        }
    }
}

impl fmt::Display for EncodingFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Dialect for EmbeddingsSpec {
    fn route(&self) -> Route {
        Route::EMBEDDINGS
    }
}

impl Backend for EmbeddingsSpec {
    type Decoder = EmbeddingsDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let Self { common, encoding_format, dimensions } = self;
        let path = Route::EMBEDDINGS.path();
        let input = match &sample.prompt {
            Prompt::Texts(texts) => json!(texts),
            Prompt::TokenIds(ids) => json!(ids),
            prompt => as_it_stands(prompt, path)?,
        };
        let body = Payload::default()
            .with("input", input)
            .with("model", common.model.as_str())
            // Only here is the adapter inserted before the run's additional keys.
            .with_adapter(sample)
            .with_some("encoding_format", encoding_format.map(EncodingFormat::as_str))
            .with_some("dimensions", *dimensions)
            .with_all(common.extra_for(sample));
        WireRequest::json(path, &body.into_object())?.with_headers(&sample.headers)
    }

    fn decoder(&self, sample: &Sample) -> EmbeddingsDecoder {
        EmbeddingsDecoder {
            expected: inputs(&sample.prompt),
            format: self.encoding_format,
            is_read: false,
        }
    }

    fn framing(&self) -> Framing {
        Framing::Document
    }
}

/// Returns the number of inputs of a request. Messages are sent as they stand, each as an input.
fn inputs(prompt: &Prompt) -> usize {
    match prompt {
        Prompt::Messages(messages) => messages.len(),
        prompt => prompt.items() as usize,
    }
}

/// Decodes an answer of `/v1/embeddings`. It is complete if it has a vector for each text.
#[derive(Clone, Debug)]
pub struct EmbeddingsDecoder {
    expected: usize,
    format: Option<EncodingFormat>,
    is_read: bool,
}

impl EmbeddingsDecoder {
    /// Returns a decoder that expects this number of vectors in any format.
    pub(crate) fn expecting(expected: usize) -> Self {
        Self { expected, format: None, is_read: false }
    }

    fn check(&self, items: &[Item]) -> Result<(), RequestError> {
        let formats: Vec<_> = items.iter().filter_map(|item| item.embedding.as_ref()?.0).collect();
        expect(formats.len(), self.expected, "embeddings")?;
        match self.format {
            Some(format) if formats.iter().any(|found| *found != format) => {
                let message = format!("the embeddings are not written as {format}, as asked for");
                Err(RequestError::new(ErrorKind::Decode, message))
            }
            _ => Ok(()),
        }
    }
}

impl Decoder for EmbeddingsDecoder {
    fn event(&mut self, _event: Event<'_>, _out: &mut dyn Sink) -> Result<Flow, RequestError> {
        Err(no_stream())
    }

    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let Frame::Json(json) = Frame::of(body) else { return Ok(()) };
        self.is_read = true;
        self.check(&items(json, out)?)
    }

    fn end(&mut self) -> Result<(), RequestError> {
        if self.is_read {
            return Ok(());
        }
        expect(0, self.expected, "embeddings")
    }
}

#[derive(Debug, Deserialize)]
struct Item {
    embedding: Option<Vector>,
}

/// The format of a vector; `None` if it is empty. Its numbers are skipped.
#[derive(Debug)]
struct Vector(Option<EncodingFormat>);

impl<'de> Deserialize<'de> for Vector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VectorVisitor)
    }
}

struct VectorVisitor;

impl<'de> Visitor<'de> for VectorVisitor {
    type Value = Vector;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of numbers, or base64")
    }

    fn visit_str<E>(self, base64: &str) -> Result<Vector, E> {
        Ok(Vector((!base64.is_empty()).then_some(EncodingFormat::Base64)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Vector, A::Error> {
        let mut vector = Vector(None);
        while numbers.next_element::<IgnoredAny>()?.is_some() {
            vector = Vector(Some(EncodingFormat::Float));
        }
        Ok(vector)
    }
}
