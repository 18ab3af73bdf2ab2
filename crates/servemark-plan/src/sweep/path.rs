//! Path of a field in a plan's document.

use std::fmt;

use serde_json::Value;

use super::SweepError;

/// Path of a field in a plan: `workload.requests`, or `/workload/requests` as a JSON pointer.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct PlanPath {
    steps: Vec<String>,
}

impl PlanPath {
    /// Parses a path.
    pub fn new(text: &str) -> Self {
        let steps: Vec<String> = match text.strip_prefix('/') {
            Some(pointer) => pointer.split('/').map(unescaped).collect(),
            None => text.split('.').map(str::to_owned).collect(),
        };
        Self { steps }
    }

    /// Returns the field's own name.
    pub(super) fn last(&self) -> &str {
        self.steps.last().map_or("", String::as_str)
    }

    /// Returns the field's value in a plan's document.
    pub(super) fn find<'a>(&self, document: &'a Value) -> Option<&'a Value> {
        self.steps.iter().try_fold(document, |value, step| match value {
            Value::Object(fields) => fields.get(step),
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Sets the value at the path. The object or array that contains it must exist.
    pub(super) fn set(&self, document: &mut Value, value: Value) -> Result<(), SweepError> {
        let known = document.clone();
        let unknown = || self.unknown(&known);
        let (last, way) = self.steps.split_last().ok_or_else(unknown)?;
        let owner = way.iter().try_fold(document, |value, step| match value {
            Value::Object(fields) => fields.get_mut(step),
            Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
            _ => None,
        });
        match owner {
            Some(Value::Object(fields)) => {
                fields.insert(last.clone(), value);
                Ok(())
            }
            Some(Value::Array(items)) => {
                let item = last.parse::<usize>().ok().and_then(|index| items.get_mut(index));
                *item.ok_or_else(unknown)? = value;
                Ok(())
            }
            _ => Err(unknown()),
        }
    }

    /// Returns the error that a plan has no such field, with the nearest existing ones.
    pub(super) fn unknown(&self, document: &Value) -> SweepError {
        let mut paths = Vec::new();
        list(document, "", &mut paths);
        let requested = self.to_string();
        paths.sort_by_cached_key(|path| {
            let (own, other) = (self.last(), path.rsplit('.').next().unwrap_or_default());
            distance(own, other) + distance(&requested, path)
        });
        paths.truncate(NEAREST);
        SweepError::UnknownField { path: requested, nearest: paths.join(", ") }
    }
}

impl fmt::Display for PlanPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.steps.join("."))
    }
}

fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// Collects the paths of all fields that contain no others.
fn list(value: &Value, path: &str, paths: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                list(value, &path, paths);
            }
        }
        _ => paths.push(path.to_owned()),
    }
}

/// Returns the edit distance of two texts: the number of bytes to insert, delete or replace.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, against) in other.bytes().enumerate() {
            let changed = diagonal + usize::from(letter != against);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

const NEAREST: usize = 3;
