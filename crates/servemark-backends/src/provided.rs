//! Dialects that the program supplies itself.

use serde::{Deserialize, Serialize};
use servemark_core::{ErrorKind, RequestError, Sample};

use crate::route::Dialect;
use crate::{Backend, CommonSpec, Decoder, Route, WireRequest};

/// A dialect that the program supplies with the plan. A plan contains only its name and the
/// options that all dialects share.
///
/// As a codec of its own it refuses every request: the program's codec takes its place.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ProvidedSpec {
    /// Name of the dialect, as reports show it.
    pub name: String,
    /// Whether an answer consists of tokens, unlike embeddings and rankings.
    pub generates: bool,
    /// Whether the dialect works outside the measured path, as a
    /// [`DeferredBackend`](crate::DeferredBackend).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferred: bool,
    /// Options that all dialects share.
    #[serde(flatten)]
    pub common: CommonSpec,
}

impl ProvidedSpec {
    /// Creates the spec of the dialect with this name, whose answers consist of tokens.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), generates: true, deferred: false, common: CommonSpec::default() }
    }

    /// Says that the dialect works outside the measured path.
    #[must_use]
    pub fn deferred(self) -> Self {
        Self { deferred: true, ..self }
    }
}

impl Dialect for ProvidedSpec {
    /// Returns what is known of the route: it takes any prompt, and its path is in its requests.
    fn route(&self) -> Route {
        let route = Route::at("").with_messages().with_ids();
        if self.generates { route } else { route.with_scores() }
    }

    fn own_name(&self) -> Option<&str> {
        Some(&self.name)
    }
}

impl Backend for ProvidedSpec {
    type Decoder = Box<dyn Decoder>;

    fn encode(&self, _sample: &Sample) -> Result<WireRequest, RequestError> {
        let reason = format!("this program does not supply the dialect {}", self.name);
        Err(RequestError::new(ErrorKind::Encode, reason))
    }

    /// # Panics
    ///
    /// Always. A decoder belongs to an encoded request, and [`encode`](Self::encode) makes none.
    fn decoder(&self, _sample: &Sample) -> Box<dyn Decoder> {
        unreachable!("a decoder is made for an encoded request")
    }
}
