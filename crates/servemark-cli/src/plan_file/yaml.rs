//! YAML of a document.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Returns a document as YAML.
pub(super) fn to_text(document: &Value) -> String {
    let mut text = String::new();
    if let Value::Object(fields) = document {
        mapping(fields, 0, &mut text);
    }
    text
}

/// Appends the keys of a mapping. Lists and empty mappings are written as JSON, which YAML reads.
fn mapping(fields: &Map<String, Value>, depth: usize, out: &mut String) {
    for (name, value) in fields {
        let indent = "  ".repeat(depth);
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                let _ = writeln!(out, "{indent}{}:", key(name));
                mapping(inner, depth + 1, out);
            }
            value => {
                let _ = writeln!(out, "{indent}{}: {value}", key(name));
            }
        }
    }
}

/// Returns a key, in quotes unless it is a plain word: YAML takes `on`, `no` and `1` for values.
fn key(name: &str) -> String {
    let is_plain = name.len() > 3
        && name.starts_with(|sign: char| sign.is_ascii_lowercase())
        && name
            .chars()
            .all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_')
        && !["true", "false", "null"].contains(&name);
    if is_plain { name.to_owned() } else { Value::from(name).to_string() }
}
