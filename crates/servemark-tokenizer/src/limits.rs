//! Limits on the size of a tokenizer's files and numbers.
//!
//! The library keeps a table indexed by id, so a single token with a huge id would exhaust the
//! memory. A chain of steps that each replace text by longer text would let it grow exponentially.

use std::fs;
use std::io::Read;
use std::path::Path;

use serde_json::Value;
use servemark_core::TokenizerError;

use crate::error::unusable;

/// The largest id of a token; today's vocabularies end below a million.
pub(crate) const MOST_ID: u32 = 4_000_000;

/// The largest size of a file in bytes.
const MOST_BYTES: u64 = 256 << 20;

/// The largest size in bytes of a token from which merges are derived, because every split of it is
/// tried.
pub(crate) const MOST_TOKEN_BYTES: usize = 1 << 14;

/// The largest factor by which all replacements together may lengthen a text.
const MOST_GROWTH: f64 = 10_000.0;

/// Reads a tokenizer's file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, TokenizerError> {
    let file = fs::File::open(path).map_err(unusable(path))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unusable(path))?;
    if bytes.len() as u64 > MOST_BYTES {
        let why = format!("it has more than {MOST_BYTES} bytes, which is the limit");
        return Err(unusable(path)(why));
    }
    Ok(bytes)
}

/// Reads a tokenizer's file as text.
pub(crate) fn read_text(path: &Path) -> Result<String, TokenizerError> {
    String::from_utf8(read(path)?).map_err(unusable(path))
}

/// Fails if one of the ids is too large.
pub(crate) fn check_ids(
    path: &Path,
    ids: impl IntoIterator<Item = u64>,
) -> Result<(), TokenizerError> {
    match ids.into_iter().find(|id| *id > u64::from(MOST_ID)) {
        Some(id) => {
            let why = format!("it has a token with the id {id}, and {MOST_ID} is the largest");
            Err(unusable(path)(why))
        }
        None => Ok(()),
    }
}

/// Fails if the steps before and after the model can lengthen a text too much.
pub(crate) fn check_growth(path: &Path, document: &Value) -> Result<(), TokenizerError> {
    let steps = ["normalizer", "pre_tokenizer", "decoder"];
    if steps.iter().any(|step| growth(&document[*step]) > MOST_GROWTH) {
        let why = format!("its replacements make a text more than {MOST_GROWTH} times longer");
        return Err(unusable(path)(why));
    }
    Ok(())
}

fn growth(step: &Value) -> f64 {
    match step {
        Value::Array(steps) => steps.iter().map(growth).product(),
        Value::Object(step) if step.get("type").is_some_and(|kind| kind == "Replace") => {
            let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::len);
            let pattern = step.get("pattern").and_then(|pattern| text(pattern.get("String")));
            let content = text(step.get("content")).unwrap_or_default();
            (content as f64 / pattern.unwrap_or(1).max(1) as f64).max(1.0)
        }
        Value::Object(step) => step.values().map(growth).product(),
        _ => 1.0,
    }
}
