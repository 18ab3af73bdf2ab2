//! Result objects of many runs as one table, which can be written as CSV, filtered, binned and
//! plotted.
//!
//! The rules are those of vLLM 0.33.0's sweeps and of pandas. A result is a list of objects whose
//! keys may differ. Each object is a row; a missing key is an empty cell.

mod bin;
mod csv;
mod error;
mod filter;
mod pareto;
mod relation;

use std::str::FromStr;

use serde_json::Value;
use servemark_core::JsonObject;
use servemark_pyjson::{literal, repr};

pub use self::bin::Binner;
pub use self::error::RecordsError;
pub use self::filter::Filter;
pub use self::pareto::{Pareto, ParetoSpec};
pub use self::relation::{Relation, RelationSpec};

/// Result objects of many runs as the rows of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    rows: Vec<JsonObject>,
}

impl Records {
    /// Returns a table with these rows, in their order.
    pub fn new(rows: Vec<JsonObject>) -> Self {
        Self { rows }
    }

    /// Returns the rows.
    pub fn rows(&self) -> &[JsonObject] {
        &self.rows
    }

    /// Returns the names of the columns, in the order of first occurrence.
    fn columns(&self) -> Vec<&str> {
        let mut columns: Vec<&str> = Vec::new();
        for key in self.rows.iter().flat_map(JsonObject::keys) {
            if !columns.contains(&key.as_str()) {
                columns.push(key);
            }
        }
        columns
    }

    /// Returns the values of a column, one per row.
    fn column<'a>(&'a self, key: &'a str) -> impl Iterator<Item = Option<&'a Value>> + Clone {
        self.rows.iter().map(move |row| row.get(key).filter(|value| !value.is_null()))
    }

    fn kind(&self, key: &str) -> Kind {
        let is_number = |value: &Value| value.is_number();
        let values = self.column(key);
        let (mut present, all) = (values.clone().flatten().peekable(), self.rows.len());
        if present.peek().is_none() || !present.all(is_number) {
            return Kind::Objects;
        }
        let is_whole = |value: &Value| !value.is_f64();
        let whole = values.flatten().filter(|value| is_whole(value)).count();
        if whole == all { Kind::Whole } else { Kind::Floats }
    }

    /// Groups the rows by their values in some columns, in the order of first occurrence.
    fn groups(&self, keys: &[String]) -> Result<Vec<(Group, Self)>, RecordsError> {
        let mut groups: Vec<(Group, Self)> = Vec::new();
        for row in &self.rows {
            let group = group(row, keys)?;
            match groups.iter_mut().find(|(known, _)| *known == group) {
                Some((_, rows)) => rows.rows.push(row.clone()),
                None => groups.push((group, Self::new(vec![row.clone()]))),
            }
        }
        Ok(groups)
    }
}

/// Type of a column in pandas. Closed: JSON leads to no other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    /// Floating-point numbers; a cell may be empty.
    Floats,
    /// Values of any type.
    Objects,
    /// Integers, with no empty cell.
    Whole,
}

impl Kind {
    /// Returns the text of a cell; `None` for an empty one.
    fn text(self, value: Option<&Value>) -> Option<String> {
        let value = value?;
        Some(match (self, value.as_f64()) {
            (Self::Floats, Some(number)) => repr(number),
            _ => python_str(value),
        })
    }
}

/// Names of some columns, each with a row's value.
type Group = Vec<(String, String)>;

fn group(row: &JsonObject, keys: &[String]) -> Result<Group, RecordsError> {
    let pair = |key: &String| {
        let value = row.get(key).ok_or_else(|| RecordsError::no_metric(key, row))?;
        Ok((key.clone(), python_str(value)))
    };
    keys.iter().map(pair).collect()
}

/// Parses a comma-separated list.
fn listed<S: FromStr>(statements: &str) -> Result<Vec<S>, S::Err> {
    let parts = statements.split(',').filter(|_| !statements.is_empty());
    parts.map(str::parse).collect()
}

/// Formats a value as Python's `str` does.
pub(crate) fn python_str(value: &Value) -> String {
    value.as_str().map_or_else(|| literal(value), str::to_owned)
}

/// Returns the numeric value: `true` is 1, and `inf`, `-inf` and `nan` are read from text.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(on) => Some(f64::from(*on)),
        Value::Number(number) => number.as_f64(),
        Value::String(text) if ["inf", "-inf", "nan"].contains(&&**text) => text.parse().ok(),
        _ => None,
    }
}
