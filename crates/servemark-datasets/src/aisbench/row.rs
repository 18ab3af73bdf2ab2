//! A row of a data set, before it is put into a template.

use std::time::Duration;

use serde_json::Value;
use servemark_core::JsonObject;
use servemark_pyjson as pyjson;

use super::shown::Shown;

/// A row of a data set.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// What its columns say, by their names.
    pub(super) columns: Vec<(String, Cell)>,
    /// What it shows and lets hear, before its text.
    pub(super) shown: Vec<Shown>,
    /// What is asked and what was answered once, turn by turn.
    pub(super) turns: Vec<(String, String)>,
    /// How long its answer is to be.
    pub(super) output_tokens: Option<u32>,
    /// How many tokens its prompt is, if it was made of so many.
    pub(super) prompt_tokens: Option<u32>,
    /// When it is sent, from the beginning.
    pub(super) begins: Option<Duration>,
}

/// What a column says.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    Text(String),
    /// So many times the same word.
    Words(u32),
}

impl Row {
    /// A row of one column.
    pub(super) fn of(column: &str, text: impl Into<String>) -> Self {
        let columns = vec![(column.to_owned(), Cell::Text(text.into()))];
        Self { columns, ..Self::default() }
    }

    /// A row of a JSON object. Its `max_tokens` is no column but how long its answer is to be, and
    /// so is `max_out_len`; `timestamp` is when it is sent, in milliseconds.
    pub(super) fn of_object(object: JsonObject) -> Result<Self, String> {
        let mut row = Self::default();
        for (column, value) in object {
            match column.as_str() {
                "max_tokens" | "max_out_len" => row.output_tokens = tokens(&column, &value)?,
                _ => {
                    if column == "timestamp" {
                        row.begins = Some(time(&value)?);
                    }
                    row.columns.push((column, Cell::Text(text(&value))));
                }
            }
        }
        Ok(row)
    }
}

/// A value as Python's `str` writes it.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| pyjson::literal(value), str::to_owned)
}

pub(super) fn tokens(column: &str, value: &Value) -> Result<Option<u32>, String> {
    let number = match value {
        Value::Null => return Ok(None),
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_u64().and_then(|number| u32::try_from(number).ok()),
    };
    number.map(Some).ok_or_else(|| format!("{column:?} is no number of tokens: {value}"))
}

/// A time in milliseconds.
pub(super) fn time(value: &Value) -> Result<Duration, String> {
    let millis = value.as_f64().filter(|millis| *millis >= 0.0);
    let time = millis.and_then(|millis| Duration::try_from_secs_f64(millis / 1000.0).ok());
    time.ok_or_else(|| format!("\"timestamp\" is no time of 0 ms or more: {value}"))
}
