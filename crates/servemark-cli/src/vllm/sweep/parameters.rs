//! Combinations of parameters, and their application to a command.

use std::collections::HashSet;

use serde_json::Value;
use servemark_core::JsonObject;
use servemark_pyjson::{Text, literal, to_string};

use crate::error::CliError;

/// One combination of parameters of a command: names and values in the order of their file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Combination {
    parameters: JsonObject,
}

/// Parses the combinations of a file: a list of objects, or an object of objects by their names.
pub fn combinations(file: &str) -> Result<Vec<Combination>, CliError> {
    let document: Value = serde_json::from_str(file)
        .map_err(|error| CliError::Peer(format!("the parameters are no JSON: {error}")))?;
    let records: Vec<Value> = match document {
        Value::Array(records) => records,
        Value::Object(named) => {
            named.into_iter().map(|(name, record)| with_name(name, record)).collect()
        }
        _ => return Err(CliError::Together(NO_LIST)),
    };
    let all = records.into_iter().map(Combination::of).collect::<Result<Vec<_>, _>>()?;
    let mut names = HashSet::new();
    let named = all.iter().filter_map(|combination| combination.parameters.get(NAME));
    match named.map(python_str).find(|name| !names.insert(name.clone())) {
        None => Ok(all),
        Some(name) => Err(CliError::Peer(format!(
            "two combinations are called {name}; every {NAME} must be another"
        ))),
    }
}

/// Adds a name to a record, unless the record has one.
fn with_name(name: String, record: Value) -> Value {
    let Value::Object(record) = record else { return record };
    let mut named = JsonObject::new();
    named.insert(NAME.to_owned(), name.into());
    named.extend(record);
    named.into()
}

impl Combination {
    fn of(record: Value) -> Result<Self, CliError> {
        match record {
            Value::Object(parameters) => Ok(Self { parameters }),
            other => Err(CliError::Peer(format!(
                "each combination of parameters must be an object, not {other}"
            ))),
        }
    }

    /// Returns the parameters.
    pub fn parameters(&self) -> &JsonObject {
        &self.parameters
    }

    /// Returns the parameters with `key` set to `value`.
    #[must_use]
    pub fn with(&self, key: &str, value: impl Into<Value>) -> Self {
        let mut parameters = self.parameters.clone();
        parameters.insert(key.to_owned(), value.into());
        Self { parameters }
    }

    /// Returns the combination's name, or a text of all its parameters if it has none.
    pub fn name(&self) -> String {
        self.parameters.get(NAME).map_or_else(|| self.text("-"), python_str)
    }

    /// Returns the parameters as text, without the name.
    pub fn text(&self, separator: &str) -> String {
        let parameters = self.parameters.iter().filter(|(key, _)| *key != NAME);
        let pairs = parameters.map(|(key, value)| format!("{key}={}", python_str(value)));
        pairs.collect::<Vec<_>>().join(separator)
    }

    /// Returns the combination as Python shows it.
    pub fn python_text(&self) -> String {
        literal(&Value::Object(self.parameters.clone()))
    }

    /// Returns whether the combination has a parameter, in any spelling of its name.
    pub fn has(&self, key: &str) -> bool {
        spellings(key).iter().any(|key| self.parameters.contains_key(key))
    }

    /// Returns whether both combinations have equal values for a linked pair of parameters.
    pub fn is_linked(&self, other: &Self, (key, its): &(String, String)) -> bool {
        let here = self.parameters.get(key);
        here.is_some() && here.map(same) == other.parameters.get(its).map(same)
    }

    /// Returns the command with these parameters. They replace its own or are appended.
    pub fn apply(&self, command: &[String]) -> Vec<String> {
        let mut command = command.to_vec();
        for (key, value) in self.parameters.iter().filter(|(key, _)| *key != NAME) {
            let words = flag(key, value);
            let spelled = spellings(key).into_iter().rev().map(|key| format!("--{key}"));
            let mut places =
                spelled.filter_map(|flag| command.iter().position(|word| *word == flag));
            match places.next() {
                Some(at) => {
                    let end = command.len().min(at + words.len());
                    command.splice(at..end, words);
                }
                None => command.extend(words),
            }
        }
        command
    }
}

/// Normalises a value for comparison as Python does: a boolean equals a number, and 1 equals 1.0.
fn same(value: &Value) -> Value {
    let number = value.as_bool().map(f64::from).or_else(|| value.as_f64());
    number.map_or_else(|| value.clone(), Value::from)
}

/// Returns a key unchanged, with underscores and with dashes. The part after a dot is unchanged.
fn spellings(key: &str) -> [String; 3] {
    let (front, rest) = key.find('.').map_or((key, ""), |dot| key.split_at(dot));
    [front.to_owned(), front.replace('-', "_"), front.replace('_', "-")].map(|front| front + rest)
}

/// Returns a parameter as arguments of a command line.
fn flag(key: &str, value: &Value) -> Vec<String> {
    let named = |key: &str| format!("--{}", spellings(key)[2]);
    match value {
        Value::Bool(on) if key.contains('.') => vec![format!("{}={on}", named(key))],
        Value::Bool(true) => vec![named(key)],
        Value::Bool(false) => vec![named(&format!("no-{key}"))],
        Value::Object(_) => {
            vec![named(key), to_string(value, Text::Ascii).unwrap_or_default()]
        }
        _ => vec![named(key), python_str(value)],
    }
}

/// Returns a value as Python's `str` writes it.
fn python_str(value: &Value) -> String {
    value.as_str().map_or_else(|| literal(value), str::to_owned)
}

/// Key of a combination's name, which is not a parameter.
const NAME: &str = "_benchmark_name";
const NO_LIST: &str =
    "the parameters must be a list of objects, or an object of them by their names";
