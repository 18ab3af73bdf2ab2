//! Decodes an answer's bytes as a client does and keeps the results.

use servemark_backends::WireBackend;
use servemark_backends::{Backend, BackendName, BackendSpec, CommonSpec, Decoder, Flow, Route};
use servemark_core::{Delta, DeltaKind, OddCount, RequestError, Sample, Sink, Usage};
use servemark_sse::{FeedError, Parser};

/// The result of decoding an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) usage: Option<Usage>,
    pub(crate) odd_counts: Vec<String>,
    pub(crate) cache_storage: Option<String>,
    pub(crate) finish_reason: Option<String>,
    pub(crate) outcome: Result<(), RequestError>,
}

/// A piece of output.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Piece {
    pub(crate) kind: DeltaKind,
    pub(crate) text: String,
    pub(crate) tokens: Option<u32>,
}

impl Reading {
    /// Decodes a stream that arrives in these reads.
    pub(crate) fn of_stream<'a>(
        mut decoder: Box<dyn Decoder>,
        reads: impl IntoIterator<Item = &'a [u8]>,
    ) -> Self {
        let mut reading = Self::nothing();
        let outcome = reading.feed(&mut decoder, reads);
        reading.outcome = outcome.and_then(|()| decoder.end());
        reading
    }

    /// Decodes a document.
    pub(crate) fn of_document(mut decoder: Box<dyn Decoder>, body: &[u8]) -> Self {
        let mut reading = Self::nothing();
        let outcome = decoder.document(body, &mut reading);
        reading.outcome = outcome.and_then(|()| decoder.end());
        reading
    }

    /// Returns the whole output.
    pub(crate) fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }

    /// Returns the sum of the pieces' tokens, if each piece has a count.
    pub(crate) fn tokens(&self) -> Option<u32> {
        self.pieces.iter().map(|piece| piece.tokens).sum()
    }

    fn nothing() -> Self {
        Self {
            pieces: Vec::new(),
            usage: None,
            odd_counts: Vec::new(),
            cache_storage: None,
            finish_reason: None,
            outcome: Ok(()),
        }
    }

    fn feed<'a>(
        &mut self,
        decoder: &mut Box<dyn Decoder>,
        reads: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(), RequestError> {
        let mut parser = Parser::new();
        for read in reads {
            let fed = parser.feed(read, |event| match decoder.event(event, self) {
                Ok(Flow::Continue) => Ok(()),
                Ok(Flow::Done) => Err(None),
                Err(error) => Err(Some(error)),
            });
            match fed {
                Ok(()) => {}
                Err(FeedError::Event(Some(error))) => return Err(error),
                Err(FeedError::Event(None)) => return Ok(()),
                Err(error @ FeedError::TooLong { .. }) => panic!("{error:?}"),
            }
        }
        Ok(())
    }
}

impl Sink for Reading {
    fn delta(&mut self, delta: Delta<'_>) {
        let Delta { kind, text, tokens, .. } = delta;
        self.pieces.push(Piece { kind, text: text.to_owned(), tokens });
    }

    fn usage(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }

    fn odd_count(&mut self, count: OddCount) {
        self.odd_counts.push(count.to_string());
    }

    fn finish_reason(&mut self, reason: &str) {
        self.finish_reason = Some(reason.to_owned());
    }

    fn cache_storage(&mut self, name: &str) {
        self.cache_storage = Some(name.to_owned());
    }
}

/// Returns the codec of a route with default options.
pub(crate) fn backend(route: Route) -> WireBackend {
    let names = BackendName::ALL.into_iter();
    let name = names.into_iter().find(|name| name.route() == route).unwrap();
    BackendSpec::new(name, CommonSpec::new("m")).build()
}

/// Returns a decoder for an answer of sixteen tokens.
pub(crate) fn decoder(route: Route) -> Box<dyn Decoder> {
    backend(route).decoder(&Sample::new("hi", 1, 16))
}
