//! Result objects of many runs as one table: written as pandas writes it, filtered, binned, plotted.
//!
//! These are the rules of vLLM 0.33.0's sweeps, whose results are lists of objects with whatever keys
//! a run had. An object is a row; a key that it has not is a cell without a value.

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

/// Result objects of many runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    rows: Vec<JsonObject>,
}

impl Records {
    /// The rows of a table, in their order.
    pub fn new(rows: Vec<JsonObject>) -> Self {
        Self { rows }
    }

    /// The rows.
    pub fn rows(&self) -> &[JsonObject] {
        &self.rows
    }

    /// The names of the columns, in the order in which they are met.
    fn columns(&self) -> Vec<&str> {
        let mut columns: Vec<&str> = Vec::new();
        for key in self.rows.iter().flat_map(JsonObject::keys) {
            if !columns.contains(&key.as_str()) {
                columns.push(key);
            }
        }
        columns
    }

    /// The values of a column, one for each row.
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

    /// The rows whose groups by some columns are the same, in the order in which they are met.
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

/// What pandas keeps of a column. Closed: these are all that JSON leads to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    /// Floats, where a cell may be without one.
    Floats,
    /// Anything.
    Objects,
    /// Whole numbers, one in every row.
    Whole,
}

impl Kind {
    /// A cell's text; none for one without a value.
    fn text(self, value: Option<&Value>) -> Option<String> {
        let value = value?;
        Some(match (self, value.as_f64()) {
            (Self::Floats, Some(number)) => repr(number),
            _ => shown(value),
        })
    }
}

/// The names of some columns with the values that a row has there.
type Group = Vec<(String, String)>;

fn group(row: &JsonObject, keys: &[String]) -> Result<Group, RecordsError> {
    let pair = |key: &String| {
        let value = row.get(key).ok_or_else(|| RecordsError::no_metric(key, row))?;
        Ok((key.clone(), shown(value)))
    };
    keys.iter().map(pair).collect()
}

/// All statements of a list that is parted by commas.
fn listed<S: FromStr>(statements: &str) -> Result<Vec<S>, S::Err> {
    let parts = statements.split(',').filter(|_| !statements.is_empty());
    parts.map(str::parse).collect()
}

/// A value as Python's `str` shows it.
pub(crate) fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| literal(value), str::to_owned)
}

/// A value as a number: `true` is 1, and text says an infinity or that there is none.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(on) => Some(f64::from(*on)),
        Value::Number(number) => number.as_f64(),
        Value::String(text) if ["inf", "-inf", "nan"].contains(&&**text) => text.parse().ok(),
        _ => None,
    }
}
