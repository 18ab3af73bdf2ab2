//! Conversations, of which a benchmark uses the first two turns: the first is the prompt, and the
//! second tells how long an answer is. Who speaks in them does not matter.

use std::path::Path;

use serde_json::Value;
use serde_json::value::RawValue;
use servemark_core::{DatasetError, JsonObject, Progress, parallel};

use crate::{python_json, text_file};

/// The first two turns of a conversation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Exchange {
    pub(crate) prompt: String,
    pub(crate) completion: String,
}

impl Exchange {
    /// The exchange of a record, if it has two turns. `text_of` finds a turn's text.
    pub(crate) fn of(
        record: &JsonObject,
        text_of: impl Fn(&Value) -> Result<String, String>,
    ) -> Result<Option<Self>, String> {
        let turns = match record.get("conversations").or_else(|| record.get("conversation")) {
            Some(turns) => turns.as_array().ok_or("the conversation is no array")?,
            None => return Ok(None),
        };
        let [first, second, ..] = turns.as_slice() else {
            return Ok(None);
        };
        Ok(Some(Self { prompt: text_of(first)?, completion: text_of(second)? }))
    }
}

/// The exchanges of a file in ShareGPT's layout: one array of records.
pub(crate) fn read_array(
    path: &Path,
    progress: &dyn Progress,
) -> Result<Vec<Exchange>, DatasetError> {
    let text = python_json::standard(&text_file::read(path)?).into_owned();
    let records: Vec<&RawValue> = serde_json::from_str(&text)
        .map_err(|error| text_file::malformed(path, error.line(), error.to_string()))?;
    let exchanges = parallel::map("reading conversations", &records, progress, |record| {
        share_gpt_exchange(record.get())
    });
    let named = records.iter().zip(exchanges).map(|(record, exchange)| {
        let line = || text_file::line_of(record.get(), &text);
        exchange.map_err(|reason| text_file::malformed(path, line(), reason))
    });
    named.filter_map(Result::transpose).collect()
}

fn share_gpt_exchange(record: &str) -> Result<Option<Exchange>, String> {
    let record = python_json::parse(record).map_err(|error| error.to_string())?;
    let record = record.as_object().ok_or("expected a JSON object")?;
    Exchange::of(record, |turn| match turn.get("value") {
        Some(Value::String(text)) => Ok(text.clone()),
        _ => Err("a turn has no text under \"value\"".to_owned()),
    })
}
