//! Differences between Python's `json` module and the JSON standard.
//!
//! SGLang reads files with Python, which accepts `NaN` and infinities as numbers and lets a number
//! overflow to infinity. It counts the tokens of JSON as Python writes it.

use serde_json::Value;
use servemark_pyjson::{Text, to_string};
pub(crate) use servemark_pyjson::{parse, standard};

/// Serializes a value as Python's `json.dumps` does.
pub(crate) fn dumps(value: &Value) -> String {
    to_string(value, Text::Ascii).expect("a value that was read can be written to memory")
}

/// Returns the error message with the column but without the parser's line number, which is
/// relative to a part of the file.
pub(crate) fn without_line(error: &serde_json::Error) -> String {
    let (message, column) = (error.to_string(), error.column());
    let place = format!(" at line {} column {column}", error.line());
    format!("{} at column {column}", message.strip_suffix(&place).unwrap_or(&message))
}
