//! Dialects that the program supplies itself.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use servemark_core::{ErrorKind, RequestError, Sample};

use crate::{Backend, CommonSpec, Decoder, Framing, WireRequest};

/// A dialect that the program supplies with the plan. A plan contains only its name and the
/// options that all dialects share.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ProvidedSpec {
    /// Name of the dialect, as reports show it.
    pub name: String,
    /// Whether an answer consists of tokens, unlike embeddings and rankings.
    pub generates: bool,
    /// Options that all dialects share.
    #[serde(flatten)]
    pub common: CommonSpec,
}

impl ProvidedSpec {
    /// Creates the spec of the dialect with this name, whose answers consist of tokens.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), generates: true, common: CommonSpec::default() }
    }
}

/// A dialect of the program, as a single type for all of them.
#[derive(Clone)]
pub struct ProvidedBackend {
    name: Arc<str>,
    backend: Option<Arc<dyn DynBackend>>,
}

impl ProvidedBackend {
    /// Creates the dialect from the program's own [`Backend`].
    pub fn new(name: &str, backend: impl Backend) -> Self {
        Self { name: name.into(), backend: Some(Arc::new(backend)) }
    }

    /// Creates a dialect that the program does not supply: every request fails, with its name.
    pub(crate) fn missing(name: &str) -> Self {
        Self { name: name.into(), backend: None }
    }
}

impl Backend for ProvidedBackend {
    type Decoder = Box<dyn Decoder>;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let Some(backend) = &self.backend else {
            let reason = format!("this program does not supply the dialect {}", self.name);
            return Err(RequestError::new(ErrorKind::Encode, reason));
        };
        backend.encode(sample)
    }

    /// # Panics
    ///
    /// If the program does not supply the dialect, which [`encode`](Self::encode) reports first.
    fn decoder(&self, sample: &Sample) -> Box<dyn Decoder> {
        let backend = self.backend.as_ref();
        backend.expect("a decoder is made for an encoded request").decoder(sample)
    }

    fn framing(&self) -> Framing {
        self.backend.as_ref().map_or_else(Framing::default, |backend| backend.framing())
    }
}

/// Equal if both are the same object of the program.
impl PartialEq for ProvidedBackend {
    fn eq(&self, other: &Self) -> bool {
        match (&self.backend, &other.backend) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (None, None) => self.name == other.name,
            _ => false,
        }
    }
}

impl fmt::Debug for ProvidedBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProvidedBackend").field("name", &self.name).finish_non_exhaustive()
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
        Box::new(Backend::decoder(self, sample))
    }

    fn framing(&self) -> Framing {
        Backend::framing(self)
    }
}
