//! OpenAI's `/v1/embeddings`: how texts are asked for, one or several at once, and how the answer
//! is read.
//!
//! The order of the keys is SGLang 0.5.23's `benchmark/serving.py`; the format and the dimensions
//! are ours, and nothing is sent of them unless they are asked for. What the vectors hold is nobody's
//! business here: they are counted, and that they come in the format asked for.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::json;
use servemark_core::{ErrorKind, Prompt, RequestError, Sample, Sink};
use servemark_sse::Event;

use crate::items::{expect, items, no_stream};
use crate::payload::{Payload, text_of};
use crate::wire::Frame;
use crate::{Backend, CommonSpec, Decoder, Flow, Framing, Route, WireRequest};

/// The knobs of `/v1/embeddings`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EmbeddingsSpec {
    /// What every dialect is told. An answer is one document, so nothing is streamed.
    #[serde(flatten)]
    pub common: CommonSpec,
    /// How vectors are written; the server's own way where none is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding_format: Option<EncodingFormat>,
    /// How long they are; the model's own length where none is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<u32>,
}

impl EmbeddingsSpec {
    /// Vectors as the server likes to write them.
    pub fn new(common: CommonSpec) -> Self {
        Self { common, encoding_format: None, dimensions: None }
    }
}

/// How vectors are written. Closed: these are OpenAI's two.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EncodingFormat {
    /// The bytes of the numbers as base64, a third of the length.
    Base64,
    /// Numbers in decimal.
    Float,
}

impl EncodingFormat {
    /// The word for it on the wire.
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

/// The codec of `/v1/embeddings`.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddingsBackend {
    spec: EmbeddingsSpec,
}

impl EmbeddingsBackend {
    /// A codec with these knobs.
    pub fn new(spec: EmbeddingsSpec) -> Self {
        Self { spec }
    }
}

impl Backend for EmbeddingsBackend {
    type Decoder = EmbeddingsDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let EmbeddingsSpec { common, encoding_format, dimensions } = &self.spec;
        let path = Route::Embeddings.path();
        let input = match &sample.prompt {
            Prompt::Texts(texts) => json!(texts),
            Prompt::TokenIds(ids) => json!(ids),
            prompt => text_of(prompt, path)?,
        };
        let body = Payload::default()
            .with("input", input)
            .with("model", common.model.as_str())
            // An adapter stands before what the run adds, here alone.
            .with_adapter(sample)
            .with_some("encoding_format", encoding_format.map(EncodingFormat::as_str))
            .with_some("dimensions", *dimensions)
            .with_all(common.extra_for(sample));
        WireRequest::json(path, &body.into_object())?.with_headers(&sample.headers)
    }

    fn decoder(&self, sample: &Sample) -> EmbeddingsDecoder {
        EmbeddingsDecoder {
            expected: sample.prompt.items() as usize,
            format: self.spec.encoding_format,
            is_read: false,
        }
    }

    fn framing(&self) -> Framing {
        Framing::Document
    }
}

/// Reads an answer of `/v1/embeddings`. A vector for each text makes it whole.
#[derive(Clone, Debug)]
pub struct EmbeddingsDecoder {
    expected: usize,
    format: Option<EncodingFormat>,
    is_read: bool,
}

impl EmbeddingsDecoder {
    /// A reader of so many vectors, however they are written.
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

/// How a vector is written; nothing if it is empty. Its numbers are passed over.
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
