//! One prompt, repeated.

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext};

use super::measure::Measure;
use super::{EvalscopeSpec, RequestDraft};

/// One prompt, repeated (`--prompt`); length bounds do not apply.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct EvalscopePromptSpec {
    /// The prompt.
    pub text: String,
}

impl EvalscopePromptSpec {
    /// Creates a spec for one prompt.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }

    pub(super) fn ask(
        &self,
        of: &EvalscopeSpec,
        context: &DrawContext<'_>,
    ) -> Result<RequestDraft, DatasetError> {
        Measure::of(of, context).ask(&self.text)
    }
}
