//! Decodes answers of vLLM's `/pooling`.

use serde::Deserialize;
use serde::de::IgnoredAny;
use servemark_core::{RequestError, Sink};
use servemark_sse::Event;

use crate::items::{expect, items, no_stream};
use crate::wire::Frame;
use crate::{Decoder, Flow};

/// Decodes an answer of `/pooling`. It is complete if it has a result for each text.
#[derive(Clone, Debug)]
pub struct PoolingDecoder {
    expected: usize,
    is_read: bool,
}

impl PoolingDecoder {
    /// Returns a decoder that expects this number of results.
    pub(super) fn expecting(expected: usize) -> Self {
        Self { expected, is_read: false }
    }
}

impl Decoder for PoolingDecoder {
    fn event(&mut self, _event: Event<'_>, _out: &mut dyn Sink) -> Result<Flow, RequestError> {
        Err(no_stream())
    }

    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let Frame::Json(json) = Frame::of(body) else { return Ok(()) };
        self.is_read = true;
        let pooled: Vec<Pooled> = items(json, out)?;
        let results = pooled.iter().filter(|one| one.data.is_some()).count();
        expect(results, self.expected, "results")
    }

    fn end(&mut self) -> Result<(), RequestError> {
        if self.is_read { Ok(()) } else { expect(0, self.expected, "results") }
    }
}

/// The result of a text; its numbers are skipped.
#[derive(Debug, Deserialize)]
struct Pooled {
    data: Option<IgnoredAny>,
}
