//! ShareGPT's conversations as published by evalscope: alternating texts of a human and an
//! assistant.

use serde_json::Value;
use servemark_core::JsonObject;

use super::measure::{message, user};

/// File names in the published data set.
pub(super) const ENGLISH: &str = "common_en_70k.jsonl";
pub(super) const CHINESE: &str = "common_zh_70k.jsonl";

/// Returns all messages up to the human's last one.
pub(super) fn messages(row: &Value) -> Result<Vec<JsonObject>, String> {
    let mut messages = Vec::new();
    let mut last = 0;
    for turn in turns(row)? {
        let [human, assistant] = [turn_text(turn, "human")?, turn_text(turn, "assistant")?];
        if human.is_empty() {
            continue;
        }
        messages.push(user(human));
        last = messages.len();
        if !assistant.is_empty() {
            messages.push(message("assistant", assistant));
        }
    }
    messages.truncate(last);
    Ok(messages)
}

/// Returns the human's texts, one per turn.
pub(super) fn humans(row: &Value) -> Result<Vec<&str>, String> {
    let said = turns(row)?.iter().map(|turn| turn_text(turn, "human"));
    said.filter(|said| !matches!(said, Ok(""))).collect()
}

fn turns(row: &Value) -> Result<&[Value], String> {
    match row.get("conversation") {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(turns)) => Ok(turns),
        Some(_) => Err("its \"conversation\" is not an array".to_owned()),
    }
}

fn turn_text<'a>(turn: &'a Value, who: &str) -> Result<&'a str, String> {
    match turn.get(who) {
        None => Ok(""),
        Some(Value::String(text)) => Ok(text.trim()),
        Some(_) => Err(format!("the text of {who} is not a string")),
    }
}
