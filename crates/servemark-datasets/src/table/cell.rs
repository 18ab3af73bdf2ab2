//! A value of a table, independent of the file format.

use serde_json::Value;

/// A value of a table. Times, booleans and other types that no data set uses are null.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Number(f64),
    Text(String),
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "JSON has no bytes"))]
    Bytes(Vec<u8>),
    List(Vec<Self>),
    Group(Vec<(String, Self)>),
}

impl Cell {
    /// Returns a non-null field of a group.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        let Self::Group(parts) = self else { return None };
        let found = parts.iter().find(|(known, _)| known == name).map(|(_, cell)| cell);
        found.filter(|cell| **cell != Self::Null)
    }

    /// Returns the value at a path of field names and, in lists, indices, separated by dots.
    pub(crate) fn at(&self, path: &str) -> Option<&Self> {
        path.split('.').try_fold(self, |cell, step| match cell {
            Self::List(items) => items.get(step.parse::<usize>().ok()?),
            cell => cell.get(step),
        })
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    pub(crate) fn items(&self) -> Option<&[Self]> {
        if let Self::List(items) = self { Some(items) } else { None }
    }

    pub(crate) fn parts(&self) -> Option<&[(String, Self)]> {
        if let Self::Group(parts) = self { Some(parts) } else { None }
    }
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        match value {
            Value::Null | Value::Bool(_) => Self::Null,
            Value::Number(number) => number.as_f64().map_or(Self::Null, Self::Number),
            Value::String(text) => Self::Text(text),
            Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Value::Object(parts) => {
                Self::Group(parts.into_iter().map(|(name, value)| (name, value.into())).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_leads_through_groups_and_lists() {
        let cell = Cell::from(json!({"turns": [[{"content": "a"}], []], "none": null}));
        assert_eq!(cell.at("turns.0.0.content").and_then(Cell::text), Some("a"));
        assert_eq!(cell.at("turns.1.0"), None);
        assert_eq!(cell.at("none"), None);
    }
}
