//! Multiple-choice questions as complete requests of System One's API.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_core::{DatasetError, DrawContext, JsonObject, Prompt};

use super::{EvalscopeName, RequestDraft};
use crate::jsonl::Reader;
use crate::table::{Cell, Record, Records};
use crate::{json_array, split_files};

/// Questions of `OpenDecisions`, in file order.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct EvalscopeDecisionsSpec {
    /// Path of the folder with the test split, or of one of its files.
    pub path: Option<PathBuf>,
}

impl EvalscopeDecisionsSpec {
    /// Returns the first `count` requests.
    pub(super) fn ask(
        &self,
        count: usize,
        context: &DrawContext<'_>,
    ) -> Result<Vec<RequestDraft>, DatasetError> {
        let path = self.path.as_deref().ok_or(DatasetError::NoFile {
            dataset: EvalscopeName::OpenDecisions.as_str(),
            hint: "give its folder or its file with `workload.dataset.path`",
        })?;
        let mut bodies = Vec::new();
        for file in split_files::of_split(path, None, "test")? {
            bodies.extend(read(&file, count - bodies.len(), context)?);
        }
        Ok(bodies.into_iter().map(|body| RequestDraft::new(Prompt::Body(body), 0)).collect())
    }
}

/// Reads up to `count` request bodies from a file.
fn read(
    file: &Path,
    count: usize,
    context: &DrawContext<'_>,
) -> Result<Vec<JsonObject>, DatasetError> {
    if file.extension().is_some_and(|ending| ending == "parquet") {
        let records = Records::open(&[file.to_owned()], &["state", "question"])?;
        let rows: Vec<usize> = (0..records.lengths().iter().sum()).take(count).collect();
        let body = |row: &Record| body(&as_json(&row.cell)).map_err(|why| row.malformed(why));
        return records.read(&rows)?.iter().map(body).collect();
    }
    if json_array::begins(file)? {
        let mut rows = json_array::read(file, context.progress, |row| body(&row).map(Some))?;
        rows.truncate(count);
        return Ok(rows);
    }
    let reader = Reader { path: file, on_bad_line: None, limit: Some(count) };
    Ok(reader.read(|_, row| body(&Value::Object(row)).map(Some))?.rows)
}

/// Converts a row to a request body, without the question's null fields.
fn body(row: &Value) -> Result<JsonObject, String> {
    let state = row.get("state").ok_or("it has no state")?;
    let question = row.get("question").and_then(Value::as_object).ok_or("it has no question")?;
    let turns = question.iter().filter(|(_, value)| !value.is_null());
    let question: JsonObject = turns.map(|(key, value)| (key.clone(), value.clone())).collect();
    let parts = [("state", state.clone()), ("questions", json!({"answer": question}))];
    Ok(parts.map(|(key, value)| (key.to_owned(), value)).into_iter().collect())
}

/// Converts a table cell to JSON. Columns whose structure varies between rows hold JSON texts,
/// which are parsed.
fn as_json(cell: &Cell) -> Value {
    match cell {
        Cell::Null | Cell::Bytes(_) => Value::Null,
        Cell::Number(number) if number.fract() == 0.0 => json!(*number as i64),
        Cell::Number(number) => json!(number),
        Cell::Text(text) if text.starts_with(['{', '[', '"']) => {
            serde_json::from_str(text).unwrap_or_else(|_| json!(text))
        }
        Cell::Text(text) => json!(text),
        Cell::List(items) => items.iter().map(as_json).collect(),
        Cell::Group(parts) => {
            parts.iter().map(|(name, cell)| (name.clone(), as_json(cell))).collect()
        }
    }
}
