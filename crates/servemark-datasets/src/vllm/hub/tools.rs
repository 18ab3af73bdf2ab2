//! Tool calls: the Berkeley Function Calling Leaderboard.
//!
//! The data set has one JSON lines file per category of calls. The functions' schemas use Python's
//! type names and are converted to JSON Schema.

use std::path::Path;

use serde_json::{Value, json};
use servemark_core::{
    DatasetError, DrawContext, JsonObject, Sample, SpecialTokens, Tokenizer, parallel,
};
use servemark_rng::PythonRandom;

use super::VllmHubSpec;
use crate::jsonl::Reader;
use crate::vllm::rows::RowOrder;

/// Draws the first `count` requests of all categories, shuffled or alternating between categories.
pub(super) fn draw(
    spec: &VllmHubSpec,
    folder: &Path,
    count: usize,
    seed: u32,
    context: &DrawContext<'_>,
) -> Result<Vec<Sample>, DatasetError> {
    let read = |category| read(folder, category);
    let mut rows = in_turn(categories(spec).into_iter().map(read).collect::<Result<_, _>>()?);
    if spec.order == RowOrder::Shuffled {
        PythonRandom::seeded(seed.into()).shuffle(&mut rows);
    }
    let mut calls: Vec<Call> = rows.iter().filter_map(Call::of).collect();
    calls.truncate(count);
    let output_tokens = spec.output_tokens.unwrap_or(512);
    let sample = |call: &Call| call.sample(output_tokens, context.tokenizer);
    let samples = parallel::map("tokenizing prompts", &calls, context.progress, sample);
    samples.into_iter().collect()
}

/// Returns the requested categories, or the default ones.
pub(super) fn categories(spec: &VllmHubSpec) -> Vec<&str> {
    match spec.categories.as_slice() {
        [] => DEFAULT.to_vec(),
        named => named.iter().map(String::as_str).collect(),
    }
}

fn read(folder: &Path, category: &str) -> Result<Vec<JsonObject>, DatasetError> {
    let path = folder.join(file_of(category));
    if !path.is_file() {
        return Err(DatasetError::Settings(format!(
            "{} does not exist; check {category:?} in `workload.dataset.categories`",
            path.display()
        )));
    }
    let reader = Reader { path: &path, on_bad_line: None, limit: None };
    Ok(reader.read(|_, row| Ok(Some(row)))?.rows)
}

/// Interleaves the categories: the first row of each, then the second row of each, and so on.
fn in_turn(categories: Vec<Vec<JsonObject>>) -> Vec<JsonObject> {
    let longest = categories.iter().map(Vec::len).max().unwrap_or_default();
    let mut categories: Vec<_> = categories.into_iter().map(Vec::into_iter).collect();
    (0..longest)
        .flat_map(|_| categories.iter_mut().filter_map(Iterator::next).collect::<Vec<_>>())
        .collect()
}

/// Messages with the tools that may be called.
struct Call {
    messages: Vec<JsonObject>,
    tools: Value,
}

impl Call {
    /// Parses a row, or returns `None` if it has no question or no tools.
    fn of(row: &JsonObject) -> Option<Self> {
        let messages = row.get("question")?.get(0)?.as_array().filter(|turns| !turns.is_empty())?;
        let messages = messages.iter().map(|message| message.as_object().cloned());
        let functions = match row.get("function")? {
            Value::Array(functions) if !functions.is_empty() => functions.clone(),
            Value::Object(function) if !function.is_empty() => vec![json!(function)],
            _ => return None,
        };
        let tool =
            |function: &Value| json!({"type": "function", "function": as_json_schema(function)});
        Some(Self {
            messages: messages.collect::<Option<_>>()?,
            tools: functions.iter().map(tool).collect(),
        })
    }

    fn sample(
        &self,
        output_tokens: u32,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Sample, DatasetError> {
        let arguments = [("tools".to_owned(), self.tools.clone())].into_iter().collect();
        let rendered = tokenizer.render_chat(&self.messages, &arguments);
        // If the chat template cannot render tools, only the messages' texts are counted.
        let text = rendered.unwrap_or_else(|_| self.words());
        let tokens = tokenizer.count(&text, SpecialTokens::Add)?;
        let extra = [("tools", self.tools.clone()), ("tool_choice", json!("auto"))];
        let extra = extra.map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
        Ok(Sample::new(self.messages.clone(), tokens, output_tokens).with_extra_body(extra))
    }

    fn words(&self) -> String {
        let words = self
            .messages
            .iter()
            .map(|message| message.get("content").and_then(Value::as_str).unwrap_or_default());
        words.collect::<Vec<_>>().join("\n")
    }
}

/// Replaces Python's type names in a schema by those of JSON Schema.
fn as_json_schema(node: &Value) -> Value {
    match node {
        Value::Object(parts) => {
            let mut parts: JsonObject =
                parts.iter().map(|(key, value)| (key.clone(), as_json_schema(value))).collect();
            let known = parts.get("type").and_then(Value::as_str);
            let renamed = known.and_then(|known| TYPES.iter().find(|(from, _)| *from == known));
            if let Some((_, to)) = renamed {
                parts["type"] = json!(to);
            }
            Value::Object(parts)
        }
        Value::Array(items) => items.iter().map(as_json_schema).collect(),
        other => other.clone(),
    }
}

/// Returns the file name of a category.
pub(super) fn file_of(category: &str) -> String {
    format!("BFCL_v3_{category}.json")
}

/// The categories that are used by default.
const DEFAULT: [&str; 3] = ["simple", "live_simple", "multiple"];

const TYPES: [(&str, &str); 4] =
    [("dict", "object"), ("float", "number"), ("tuple", "array"), ("any", "string")];
