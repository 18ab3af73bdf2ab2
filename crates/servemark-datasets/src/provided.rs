//! Data sets that the program supplies itself.

use serde::{Deserialize, Serialize};
use servemark_core::{Dataset, DatasetError, DrawContext};

use crate::{DatasetName, Draw, Summary};

/// A data set that the program supplies with the plan. A plan contains only its name, so a run can
/// be repeated from its log only by a program that supplies a data set of this name.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProvidedDatasetSpec {
    /// Name of the data set, as reports show it.
    pub name: String,
}

impl ProvidedDatasetSpec {
    /// Creates the spec of the data set with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }

    /// Draws up to `count` sessions from the program's data set.
    ///
    /// # Errors
    ///
    /// Returns the data set's own error, and [`DatasetError::Nothing`] if it has no session.
    pub fn draw(
        &self,
        dataset: &mut dyn Dataset,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        let mut sessions = dataset.draw(count, context)?;
        sessions.truncate(count);
        if sessions.is_empty() {
            let reason = format!("the program's data set {} has no session", self.name);
            return Err(DatasetError::Nothing { reason });
        }
        let summary = Summary::of_sessions(DatasetName::Provided, &sessions);
        Ok(Draw::of_sessions(sessions, summary))
    }

    /// Returns the error for a program that does not supply this data set.
    pub(crate) fn missing(&self) -> DatasetError {
        DatasetError::Settings(format!(
            "the plan's data set {} is supplied by a program, and this program does not supply it",
            self.name
        ))
    }
}
