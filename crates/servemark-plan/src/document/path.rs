//! Paths of keys in a document.

use std::fmt;

use serde_json::{Value, json};

/// Path of a key in a document: the keys and the positions in lists that lead to it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct KeyPath(Vec<PathStep>);

/// A key, or a position in a list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum PathStep {
    Key(String),
    Item(usize),
}

impl KeyPath {
    /// Returns the paths of all keys of a document, outer keys before their inner ones.
    pub(super) fn all(document: &Value) -> Vec<Self> {
        let mut paths = Vec::new();
        Self(Vec::new()).collect(document, &mut paths);
        paths
    }

    /// Returns the paths of all objects of a document, the whole document first.
    pub(super) fn objects(document: &Value) -> Vec<Self> {
        let mut document = document.clone();
        let mut paths = vec![Self(Vec::new())];
        paths.extend(Self::all(&document));
        paths.retain(|path| path.find_mut(&mut document).is_some_and(|value| value.is_object()));
        paths
    }

    fn collect(&self, value: &Value, paths: &mut Vec<Self>) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    let path = self.then(PathStep::Key(key.clone()));
                    paths.push(path.clone());
                    path.collect(value, paths);
                }
            }
            Value::Array(items) => {
                for (place, value) in items.iter().enumerate() {
                    self.then(PathStep::Item(place)).collect(value, paths);
                }
            }
            _ => {}
        }
    }

    fn then(&self, step: PathStep) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// Returns the name of the key.
    pub(super) fn last(&self) -> &str {
        match self.0.last() {
            Some(PathStep::Key(key)) => key,
            _ => "",
        }
    }

    /// Returns the path without its last key.
    pub(super) fn parent(&self) -> Self {
        Self(self.0[..self.0.len().saturating_sub(1)].to_vec())
    }

    /// Returns whether the key is inside another one's value.
    pub(super) fn is_in(&self, outer: &Self) -> bool {
        self.0.starts_with(&outer.0)
    }

    /// Returns whether the path leads to the whole document.
    pub(super) fn is_whole(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the keys and the positions in lists.
    #[cfg(feature = "schema")]
    pub(super) fn steps(&self) -> &[PathStep] {
        &self.0
    }

    /// Removes the key from a document.
    pub(super) fn remove(&self, document: &mut Value) {
        let name = self.last();
        if let Some(Value::Object(fields)) = self.parent().find_mut(document) {
            fields.shift_remove(name);
        }
    }

    /// Returns two copies of a document in which the key has an unusual value: an object in one, a
    /// text in the other. No type of value accepts both, and where any value is accepted, each
    /// shows in the plan.
    pub(super) fn invalid_variants(&self, document: &Value) -> impl Iterator<Item = Value> {
        [json!({"\u{1}": []}), json!("\u{1}")].into_iter().map(|spoilt| {
            let mut document = document.clone();
            if let Some(value) = self.find_mut(&mut document) {
                *value = spoilt;
            }
            document
        })
    }

    /// Returns copies of a document in which the object at this path has a further key, with the
    /// values of [`invalid_variants`](Self::invalid_variants).
    pub(super) fn with_key(&self, name: &str, document: &Value) -> Vec<Value> {
        let mut document = document.clone();
        if let Some(Value::Object(fields)) = self.find_mut(&mut document) {
            fields.entry(name).or_insert(Value::Null);
        }
        self.then(PathStep::Key(name.to_owned())).invalid_variants(&document).collect()
    }

    fn find_mut<'a>(&self, document: &'a mut Value) -> Option<&'a mut Value> {
        self.0.iter().try_fold(document, |value, step| match (step, value) {
            (PathStep::Key(key), Value::Object(fields)) => fields.get_mut(key),
            (PathStep::Item(place), Value::Array(items)) => items.get_mut(*place),
            _ => None,
        })
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.0.iter().enumerate() {
            match step {
                PathStep::Key(key) if place == 0 => f.write_str(key)?,
                PathStep::Key(key) => write!(f, ".{key}")?,
                PathStep::Item(item) => write!(f, "[{item}]")?,
            }
        }
        Ok(())
    }
}
