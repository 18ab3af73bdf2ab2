//! TOML of a document.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value, json};
use toml::de::{DeTable, DeValue};

/// Reads a TOML text into a document.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let table = DeTable::parse(text).map_err(|error| {
        let before = text.get(..error.span().map_or(0, |span| span.start)).unwrap_or(text);
        format!("is not TOML: line {}: {}", before.matches('\n').count() + 1, error.message())
    })?;
    object(table.get_ref())
}

fn object(table: &DeTable<'_>) -> Result<Value, String> {
    let mut fields: Vec<_> = table.iter().collect();
    // The parser sorts the keys; a document has them in the order of the file.
    fields.sort_by_key(|(key, _)| key.span().start);
    let field = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
        let key: &std::borrow::Cow<'_, str> = key.get_ref();
        Ok((key.to_string(), json_of(value.get_ref())?))
    };
    Ok(Value::Object(fields.into_iter().map(field).collect::<Result<Map<_, _>, String>>()?))
}

fn json_of(value: &DeValue<'_>) -> Result<Value, String> {
    Ok(match value {
        DeValue::String(text) => json!(text),
        DeValue::Boolean(flag) => json!(flag),
        DeValue::Integer(number) => {
            let whole = i64::from_str_radix(number.as_str(), number.radix());
            json!(whole.map_err(|_| format!("the number {} is too large", number.as_str()))?)
        }
        DeValue::Float(number) => {
            let float: f64 =
                number.as_str().parse().map_err(|_| format!("{} is no number", number.as_str()))?;
            Number::from_f64(float)
                .map(Value::Number)
                .ok_or_else(|| format!("{} is not finite", number.as_str()))?
        }
        DeValue::Array(items) => {
            items.iter().map(|item| json_of(item.get_ref())).collect::<Result<_, _>>()?
        }
        DeValue::Table(table) => object(table)?,
        DeValue::Datetime(date) => return Err(format!("no key takes a date, such as {date}")),
    })
}

/// Returns a document as TOML. Keys without a value are left out, except in `echo`, which is
/// written as JSON text, here and in the plan of the warm-up.
pub(super) fn to_text(document: &Value) -> String {
    let mut document = document.clone();
    for path in super::ECHOES {
        if let Some(echo) = document.pointer_mut(path) {
            *echo = json!(echo.to_string());
        }
    }
    let mut text = String::new();
    if let Value::Object(fields) = &document {
        table(fields, "", &mut text);
    }
    text
}

/// Appends the keys of a table: first those with values, then the tables inside it.
fn table(fields: &Map<String, Value>, path: &str, out: &mut String) {
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null() && !value.is_object()) {
        let _ = writeln!(out, "{} = {}", key(name), inline(value));
    }
    for (name, value) in fields {
        let Value::Object(inner) = value else { continue };
        let path = if path.is_empty() { key(name) } else { [path, ".", &key(name)].concat() };
        if inner.values().any(|value| !value.is_object() && !value.is_null()) || inner.is_empty() {
            let gap = if out.is_empty() { "" } else { "\n" };
            let _ = writeln!(out, "{gap}[{path}]");
        }
        table(inner, &path, out);
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> =
                items.iter().filter(|item| !item.is_null()).map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| format!("{} = {}", key(name), inline(value)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::String(text) => string(text),
        // JSON's numbers, true and false are TOML's.
        other => other.to_string(),
    }
}

fn key(name: &str) -> String {
    let is_bare = |sign: char| sign.is_ascii_alphanumeric() || sign == '_' || sign == '-';
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { string(name) }
}

/// Returns a text in double quotes. JSON's escapes are valid in TOML; only U+007F, which JSON need
/// not escape, has to be escaped in TOML.
fn string(text: &str) -> String {
    json!(text).to_string().replace('\u{7f}', "\\u007f")
}
