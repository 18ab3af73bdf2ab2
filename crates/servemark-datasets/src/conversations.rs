//! Conversations from which a benchmark uses the first two turns: the first is the prompt, and the
//! second gives the output length. The speakers' roles are ignored.

use std::path::Path;

use serde_json::Value;
use servemark_core::{DatasetError, JsonObject, Progress};

use crate::json_array;

/// The first two turns of a conversation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Exchange {
    pub(crate) prompt: String,
    pub(crate) completion: String,
}

impl Exchange {
    /// Returns the exchange of a record, or `None` if it has fewer than two turns. `text_of`
    /// extracts a turn's text.
    pub(crate) fn of(
        record: &JsonObject,
        text_of: impl Fn(&Value) -> Result<String, String>,
    ) -> Result<Option<Self>, String> {
        let turns = match record.get("conversations").or_else(|| record.get("conversation")) {
            Some(turns) => turns.as_array().ok_or("the conversation is not an array")?,
            None => return Ok(None),
        };
        let [first, second, ..] = turns.as_slice() else {
            return Ok(None);
        };
        Ok(Some(Self { prompt: text_of(first)?, completion: text_of(second)? }))
    }
}

/// Reads a file in ShareGPT's layout, one array of records, and applies `keep` to each exchange.
pub(crate) fn read_array<T: Send>(
    path: &Path,
    progress: &dyn Progress,
    keep: impl Fn(Exchange) -> T + Sync,
) -> Result<Vec<T>, DatasetError> {
    json_array::read(path, progress, |record| Ok(share_gpt_exchange(&record)?.map(&keep)))
}

fn share_gpt_exchange(record: &Value) -> Result<Option<Exchange>, String> {
    let record = record.as_object().ok_or("expected a JSON object")?;
    Exchange::of(record, |turn| match turn.get("value") {
        Some(Value::String(text)) => Ok(text.clone()),
        _ => Err("a turn has no text under \"value\"".to_owned()),
    })
}
