//! Where Python's `json` and the standard part ways.
//!
//! SGLang reads its files with Python, which takes `NaN` and the infinities for numbers and lets
//! a number overflow to infinity, and it counts the tokens of JSON as Python writes it.

use serde_json::Value;
use servemark_pyjson::{Text, to_string};
pub(crate) use servemark_pyjson::{parse, standard};

/// The text of a value as Python's `json.dumps` writes it.
pub(crate) fn dumps(value: &Value) -> String {
    to_string(value, Text::Ascii).expect("a value that was read can be written to memory")
}

/// What is wrong, without the parser's idea of the line, which knows only a part of the file.
pub(crate) fn without_line(error: &serde_json::Error) -> String {
    let (message, column) = (error.to_string(), error.column());
    let place = format!(" at line {} column {column}", error.line());
    format!("{} at column {column}", message.strip_suffix(&place).unwrap_or(&message))
}
