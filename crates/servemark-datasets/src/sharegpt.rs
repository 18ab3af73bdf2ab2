//! ShareGPT's conversations, one JSON array.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Progress};

use crate::conversations::{self, Exchange};
use crate::{DatasetName, Draw, Shaping, Summary};

/// Conversations in ShareGPT's layout.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct ShareGptSpec {
    /// Path of the file. Without one, a run downloads the published file.
    pub path: Option<PathBuf>,
    /// How exchanges become requests.
    pub shaping: Shaping,
}

impl ShareGptSpec {
    pub(crate) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        let keep = |exchange| self.shaping.keep(exchange);
        let exchanges = read(DatasetName::Sharegpt, self.path.as_deref(), context.progress, keep)?;
        let samples = self.shaping.draw(exchanges, count, context)?;
        let summary = Summary::of(DatasetName::Sharegpt, &samples);
        Ok(Draw::of(samples, summary))
    }
}

/// Reads ShareGPT's file for `dataset` and applies `keep` to each exchange.
pub(crate) fn read<T: Send>(
    dataset: DatasetName,
    path: Option<&Path>,
    progress: &dyn Progress,
    keep: impl Fn(Exchange) -> T + Sync,
) -> Result<Vec<T>, DatasetError> {
    let hint = "give ShareGPT's file with `workload.dataset.path`";
    let path = path.ok_or(DatasetError::NoFile { dataset: dataset.as_str(), hint })?;
    conversations::read_array(path, progress, keep)
}
