//! `--set KEY=VALUE`: a key of a document with another value.

use std::str::FromStr;

use serde_json::{Map, Value};

/// A key of a document, by its path, and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setting {
    path: String,
    value: Value,
}

impl FromStr for Setting {
    type Err = String;

    /// Parses `KEY=VALUE`. The value is JSON if it can be read as JSON, and a text otherwise.
    fn from_str(text: &str) -> Result<Self, String> {
        let (path, value) = text
            .split_once('=')
            .filter(|(path, _)| !path.split('.').any(str::is_empty))
            .ok_or("expected KEY=VALUE, such as load.max_concurrency=8")?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        Ok(Self { path: path.to_owned(), value })
    }
}

impl Setting {
    /// Sets the key in a document. Objects on the way to it are created.
    pub(crate) fn apply(&self, document: &mut Value) -> Result<(), String> {
        let mut place = document;
        for key in self.path.split('.') {
            if place.is_null() {
                *place = Value::Object(Map::new());
            }
            let number = key.parse::<usize>();
            place = match place {
                Value::Object(fields) => fields.entry(key).or_insert(Value::Null),
                Value::Array(items) => {
                    let count = items.len();
                    number.ok().and_then(|number| items.get_mut(number)).ok_or_else(|| {
                        format!("--set {}: the list has {count} items, from 0", self.path)
                    })?
                }
                _ => return Err(format!("--set {}: {key} is inside a single value", self.path)),
            };
        }
        *place = self.value.clone();
        Ok(())
    }
}
