//! Conversations from a user's file, one JSON object per line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{DatasetError, DrawContext};

use crate::conversations::Exchange;
use crate::jsonl::{BadLine, Reader};
use crate::{DatasetName, Draw, Shaping, Summary};

/// Conversations from a file with one JSON object per line.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct CustomSpec {
    /// Path of the file.
    pub path: Option<PathBuf>,
    /// How a line that is not JSON is handled.
    pub on_bad_line: BadLine,
    /// How conversations become requests.
    pub shaping: Shaping,
}

impl CustomSpec {
    pub(crate) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        let hint =
            "pass one with `workload.dataset.path`, a conversation as a JSON object on each line";
        let path = self.path.as_deref().ok_or(DatasetError::NoFile { dataset: "custom", hint })?;
        let reader = Reader { path, on_bad_line: Some(self.on_bad_line), limit: None };
        let read = reader.read(|_, record| Exchange::of(&record, text))?;
        let samples = self.shaping.draw(read.rows, count, context)?;
        let summary = Summary::of(DatasetName::Custom, &samples);
        Ok(Draw::of(samples, summary).skipping(read.skipped))
    }
}

/// Returns a turn's text: its `content`, else its `value`, else the empty string.
fn text(turn: &Value) -> Result<String, String> {
    let turn = turn.as_object().ok_or("a turn is not a JSON object")?;
    match turn.get("content").or_else(|| turn.get("value")) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err("the text of a turn is not a string".to_owned()),
        None => Ok(String::new()),
    }
}
