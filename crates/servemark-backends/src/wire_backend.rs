//! All dialects behind one type, so that a run need not know its dialect.

use std::fmt;
use std::sync::Arc;

use servemark_core::{RequestError, Sample};

use crate::{Backend, Decoder, Framing, WireRequest};

/// A codec of any dialect: a bundled one, or one that the program supplies.
#[derive(Clone)]
pub struct WireBackend(Arc<dyn DynBackend>);

impl WireBackend {
    /// Wraps a codec.
    pub fn new(backend: impl Backend) -> Self {
        Self(Arc::new(backend))
    }
}

impl Backend for WireBackend {
    type Decoder = Box<dyn Decoder>;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        self.0.encode(sample)
    }

    fn decoder(&self, sample: &Sample) -> Box<dyn Decoder> {
        self.0.decoder(sample)
    }

    fn framing(&self) -> Framing {
        self.0.framing()
    }
}

impl fmt::Debug for WireBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireBackend").finish_non_exhaustive()
    }
}

/// [`Backend`] in a form that can be a trait object.
trait DynBackend: Send + Sync {
    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError>;

    fn decoder(&self, sample: &Sample) -> Box<dyn Decoder>;

    fn framing(&self) -> Framing;
}

impl<B: Backend> DynBackend for B {
    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        Backend::encode(self, sample)
    }

    fn decoder(&self, sample: &Sample) -> Box<dyn Decoder> {
        Backend::decoder(self, sample).boxed()
    }

    fn framing(&self) -> Framing {
        Backend::framing(self)
    }
}
