//! A row of a data set, before it is put into a template.

use std::time::Duration;

use serde_json::Value;
use servemark_core::JsonObject;
use servemark_pyjson as pyjson;

use super::media_file::MediaFile;

/// A row of a data set.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// Cells with the names of their columns.
    pub(super) columns: Vec<(String, Cell)>,
    /// Images, videos and audio that come before the text.
    pub(super) media: Vec<MediaFile>,
    /// Questions with their recorded answers, one pair per turn.
    pub(super) turns: Vec<(String, String)>,
    /// Requested output length, in tokens.
    pub(super) output_tokens: Option<u32>,
    /// Number of prompt tokens, if the prompt was generated with a known length.
    pub(super) prompt_tokens: Option<u32>,
    /// Time at which the row is sent, relative to the start.
    pub(super) begins: Option<Duration>,
}

/// Content of a column.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    Text(String),
    /// The letter A, repeated this number of times and separated by spaces.
    Words(u32),
}

impl Row {
    /// Creates a row with one text column.
    pub(super) fn of(column: &str, text: impl Into<String>) -> Self {
        let columns = vec![(column.to_owned(), Cell::Text(text.into()))];
        Self { columns, ..Self::default() }
    }

    /// Creates a row from a JSON object. `max_tokens` and `max_out_len` set the output length and
    /// are not columns; `timestamp`, in milliseconds, sets the time and is a column too.
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

/// Formats a value as Python's `str` does.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| pyjson::literal(value), str::to_owned)
}

pub(super) fn tokens(column: &str, value: &Value) -> Result<Option<u32>, String> {
    let number = match value {
        Value::Null => return Ok(None),
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_u64().and_then(|number| u32::try_from(number).ok()),
    };
    number.map(Some).ok_or_else(|| format!("{column:?} is not a token count: {value}"))
}

/// Parses a time in milliseconds.
pub(super) fn time(value: &Value) -> Result<Duration, String> {
    let millis = value.as_f64().filter(|millis| *millis >= 0.0);
    let time = millis.and_then(|millis| Duration::try_from_secs_f64(millis / 1000.0).ok());
    time.ok_or_else(|| format!("\"timestamp\" is not a time of 0 ms or more: {value}"))
}
