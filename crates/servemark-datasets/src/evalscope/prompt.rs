//! One prompt again and again.

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext};

use super::measure::Measure;
use super::{Asked, EvalscopeSpec};

/// One prompt again and again (`--prompt`), whatever its length.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EvalscopePromptSpec {
    /// The prompt.
    pub text: String,
}

impl EvalscopePromptSpec {
    /// This prompt.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }

    pub(super) fn ask(
        &self,
        of: &EvalscopeSpec,
        context: &DrawContext<'_>,
    ) -> Result<Asked, DatasetError> {
        Measure::of(of, context).ask(&self.text)
    }
}
