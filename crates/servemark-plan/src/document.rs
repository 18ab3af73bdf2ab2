//! A plan as a document that a person writes: sections and keys that are left out have default
//! values, and unknown keys are refused.

#[cfg(feature = "schema")]
mod datasets;
mod path;
#[cfg(feature = "schema")]
mod schema;
#[cfg(feature = "schema")]
mod trace;

use serde_json::{Map, Value};
use servemark_backends::{BackendName, BackendSpec, CommonSpec};

use self::path::KeyPath;
#[cfg(feature = "schema")]
pub use self::schema::plan_schema;
use crate::BenchPlan;

/// A fault of a plan's document.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DocumentFault {
    /// A plan has no such key.
    UnknownKey {
        /// Path of the key, such as `load.max_concurency`.
        path: String,
        /// Keys that are known at this place; none if they need the feature `schema`.
        known: Vec<String>,
    },
    /// A value is missing or has the wrong form.
    Value {
        /// Path of the value, as far as it is known; empty for the whole document.
        path: String,
        /// Description of the fault.
        reason: String,
    },
}

/// A document that is no plan.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultyDocument {
    /// The faults, at least one.
    pub faults: Vec<DocumentFault>,
    /// The plan of the document without its faulty keys, so that it can be checked further; `None`
    /// if the rest is no plan.
    pub rest: Option<Box<BenchPlan>>,
}

impl BenchPlan {
    /// Returns the plan of a document. Only `server`, `backend` and `workload` are required. Keys
    /// that are missing from `wire` have the backend's defaults, unless `wire` names another route.
    ///
    /// # Errors
    ///
    /// Returns the unknown keys of the document and the values that have the wrong form. Values
    /// that are missing because of them are no faults of their own.
    pub fn from_document(document: &Value) -> Result<Self, FaultyDocument> {
        let mut document = document.clone();
        let (mut faults, mut removed) = (Vec::new(), Vec::<KeyPath>::new());
        loop {
            let reason = match read(&document) {
                Ok(plan) => {
                    let ignored = ignored_keys(&document, &plan);
                    faults.extend(ignored.iter().map(|path| unknown(path, &document, "")));
                    if faults.is_empty() {
                        return Ok(plan);
                    }
                    return Err(FaultyDocument { faults, rest: Some(Box::new(plan)) });
                }
                Err(reason) => reason,
            };
            if let Some(path) = denied_key(&document, &reason) {
                faults.push(unknown(&path, &document, &reason));
                path.remove(&mut document);
                continue;
            }
            let is_missing = quoted_after(MISSING, &reason).is_some();
            let place = place_of(&document, &reason);
            // A value that was removed is missing where it was, and what is empty now has no form.
            let is_caused = match &place {
                Some(place) => removed.iter().any(|gone| gone.is_in(place)),
                None => is_missing && !removed.is_empty(),
            };
            if !is_caused {
                let path = place.as_ref().map(KeyPath::to_string).unwrap_or_default();
                faults.push(DocumentFault::Value { path, reason });
            }
            let is_removed = |place: &KeyPath| !place.is_whole() && (is_caused || !is_missing);
            let Some(place) = place.filter(is_removed) else {
                return Err(FaultyDocument { faults, rest: None });
            };
            place.remove(&mut document);
            removed.push(place);
        }
    }
}

/// Returns the plan of a document, or serde's message about the first fault.
fn read(document: &Value) -> Result<BenchPlan, String> {
    BenchPlan::from_json(completed(document.clone())).map_err(|error| error.to_string())
}

/// Adds the wire dialect of the document's backend. Keys that the document gives keep their values.
fn completed(mut document: Value) -> Value {
    let backend = document.get("backend").cloned().unwrap_or_default();
    let Ok(backend) = serde_json::from_value::<BackendName>(backend) else { return document };
    let name = |key| Some(document.get("model")?.get(key)?.as_str()?.to_owned());
    let model = name("served_name").or_else(|| name("name")).unwrap_or_default();
    let usual = serde_json::to_value(BackendSpec::new(backend, CommonSpec::new(model)));
    let Some(fields) = document.as_object_mut() else { return document };
    let wire = fields.entry("wire").or_insert_with(|| Value::Object(Map::new()));
    if let (Value::Object(wire), Ok(Value::Object(usual))) = (wire, usual)
        && wire.get("route").is_none_or(|route| Some(route) == usual.get("route"))
    {
        for (key, value) in usual {
            wire.entry(key).or_insert(value);
        }
    }
    document
}

/// Returns the key that serde's message calls unknown, if that is what the message says.
fn denied_key(document: &Value, reason: &str) -> Option<KeyPath> {
    let name = quoted_after("unknown field `", reason)?;
    let without = |path: &KeyPath| {
        let mut document = document.clone();
        path.remove(&mut document);
        read(&document).err().is_none_or(|other| other != reason)
    };
    KeyPath::all(document).into_iter().find(|path| path.last() == name && without(path))
}

/// Returns the name that follows the beginning of one of serde's messages.
fn quoted_after<'a>(beginning: &str, reason: &'a str) -> Option<&'a str> {
    reason.strip_prefix(beginning)?.split('`').next()
}

/// Returns the keys of a readable document that do not change its plan, whatever their value is.
/// Keys of an ignored object are not listed.
fn ignored_keys(document: &Value, plan: &BenchPlan) -> Vec<KeyPath> {
    let mut ignored: Vec<KeyPath> = Vec::new();
    for path in KeyPath::all(document) {
        let is_inside = ignored.iter().any(|outer| path.is_in(outer));
        let gives_same = |document: Value| read(&document).is_ok_and(|other| other == *plan);
        if !is_inside && path.invalid_variants(document).all(gives_same) {
            ignored.push(path);
        }
    }
    ignored
}

/// Returns the path of the value that causes an error. Keys are read in order, so it is the last
/// key whose value changes the error. If a key is missing, it is the path of the object in which
/// adding that key changes the error.
fn place_of(document: &Value, reason: &str) -> Option<KeyPath> {
    if let Some(name) = quoted_after(MISSING, reason) {
        // Where the key is read, its value decides. Elsewhere it is ignored, or always an error.
        let is_read_there = |path: &KeyPath| {
            let errors: Vec<_> =
                path.with_key(name, document).iter().map(|document| read(document).err()).collect();
            errors.contains(&None) || errors.windows(2).any(|pair| pair[0] != pair[1])
        };
        return KeyPath::objects(document).into_iter().find(is_read_there);
    }
    let gives_other = |path: &KeyPath| {
        path.invalid_variants(document)
            .any(|document| read(&document).err().as_deref() != Some(reason))
    };
    KeyPath::all(document).into_iter().rfind(gives_other)
}

/// Beginning of serde's message about a missing key.
const MISSING: &str = "missing field `";

fn unknown(path: &KeyPath, document: &Value, reason: &str) -> DocumentFault {
    let names: Vec<String> = reason.split('`').skip(3).step_by(2).map(str::to_owned).collect();
    let known = if names.is_empty() { known_keys(path, document) } else { names };
    DocumentFault::UnknownKey { path: path.to_string(), known }
}

/// Returns the keys that are known at the place of an unknown one.
#[cfg(feature = "schema")]
fn known_keys(path: &KeyPath, document: &Value) -> Vec<String> {
    schema::known_keys(path, &completed(document.clone()))
}

#[cfg(not(feature = "schema"))]
fn known_keys(_: &KeyPath, _: &Value) -> Vec<String> {
    Vec::new()
}

#[cfg(feature = "schema")]
#[cfg(test)]
mod tests;
