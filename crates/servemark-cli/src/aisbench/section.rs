//! Reads a dict of a config file key by key. Keys that remain at the end are unknown and are
//! refused.

use serde_json::{Number, Value as Json};
use servemark_core::JsonObject;

use super::python::{Dict, Fault, Located, Place, Value};

/// A dict of a config whose keys are taken out one by one.
pub(super) struct Section {
    /// Position of the dict in the config.
    pub(super) place: Place,
    /// Description of the dict in messages, such as `a model`.
    what: &'static str,
    left: Dict,
}

impl Section {
    pub(super) fn of(value: &Located, what: &'static str) -> Result<Self, Fault> {
        match &value.value {
            Value::Dict(entries) => {
                Ok(Self { place: value.place.clone(), what, left: entries.borrow().clone() })
            }
            other => Err(value.fault(format!("{what} must be a dict, not {}", other.kind()))),
        }
    }

    /// Returns the position of a key's value; `None` if the key is absent or was taken out.
    pub(super) fn place_of(&self, key: &str) -> Option<Place> {
        let found = self.left.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.place.clone())
    }

    /// Takes out the value of a key. The value `None` counts as absent.
    pub(super) fn take(&mut self, key: &str) -> Option<Located> {
        let place = self.left.iter().position(|(name, _)| name == key)?;
        let (_, value) = self.left.remove(place);
        (value.value != Value::None).then_some(value)
    }

    /// Takes out the value of a key, which may be `None`. Refuses a dict without the key.
    pub(super) fn require(&mut self, key: &str) -> Result<Located, Fault> {
        let missing = || self.place.fault(format!("{} needs the key {key:?}", self.what));
        let place = self.left.iter().position(|(name, _)| name == key).ok_or_else(missing)?;
        Ok(self.left.remove(place).1)
    }

    /// Removes keys that do not affect performance.
    pub(super) fn ignore(&mut self, keys: &[&str]) {
        self.left.retain(|(name, _)| !keys.contains(&name.as_str()));
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, Fault> {
        self.take(key).map(|value| text(&value, key)).transpose()
    }

    /// Takes out a string; an empty one counts as absent.
    pub(super) fn word(&mut self, key: &str) -> Result<Option<String>, Fault> {
        Ok(self.text(key)?.filter(|text| !text.is_empty()))
    }

    pub(super) fn flag(&mut self, key: &str) -> Result<Option<bool>, Fault> {
        let flag = |value: Located| match value.value {
            Value::Bool(flag) => Ok(flag),
            ref other => {
                Err(value.fault(format!("{key} must be True or False, not {}", other.kind())))
            }
        };
        self.take(key).map(flag).transpose()
    }

    /// Takes out a whole number from `least` to `most`.
    pub(super) fn whole<T: TryFrom<i64>>(
        &mut self,
        key: &str,
        least: i64,
        most: i64,
    ) -> Result<Option<T>, Fault> {
        self.take(key).map(|value| whole(&value, key, least, most)).transpose()
    }

    /// Takes out a number from `least` to `most`; an empty string counts as absent.
    pub(super) fn number(
        &mut self,
        key: &str,
        least: f64,
        most: f64,
    ) -> Result<Option<f64>, Fault> {
        let number = |value: Located| {
            let number = match value.value {
                Value::Int(number) => Some(number as f64),
                Value::Float(number) => Some(number),
                // AISBench treats an empty string like None.
                Value::Text(ref text) if text.is_empty() => return Ok(None),
                _ => None,
            };
            let number = number.filter(|number| (least..=most).contains(number));
            let rendered = format_value(&value.value);
            let limits = match most {
                f64::MAX => format!("of {least} or more"),
                most => format!("from {least} to {most}"),
            };
            let why = || format!("{key} must be a number {limits}, not {rendered}");
            number.map(Some).ok_or_else(|| value.fault(why()))
        };
        Ok(self.take(key).map(number).transpose()?.flatten())
    }

    pub(super) fn section(&mut self, key: &str, what: &'static str) -> Result<Option<Self>, Fault> {
        self.take(key).map(|value| Self::of(&value, what)).transpose()
    }

    /// Takes out an object that goes into requests unchanged; returns an empty one if it is absent.
    pub(super) fn object(&mut self, key: &str) -> Result<JsonObject, Fault> {
        let Some(value) = self.take(key) else { return Ok(JsonObject::new()) };
        match json(&value)? {
            Json::Object(object) => Ok(object),
            _ => Err(value.fault(format!("{key} must be a dict, not {}", value.value.kind()))),
        }
    }

    /// Refuses the dict if a key was not taken out.
    pub(super) fn finish(self) -> Result<(), Fault> {
        match self.left.first() {
            None => Ok(()),
            Some((key, value)) => Err(value.fault(format!("{} has no key {key:?}", self.what))),
        }
    }
}

/// Parses a whole number from `least` to `most` into a type that can hold it.
pub(super) fn whole<T: TryFrom<i64>>(
    value: &Located,
    key: &str,
    least: i64,
    most: i64,
) -> Result<T, Fault> {
    let number = match value.value {
        Value::Int(number) if (least..=most).contains(&number) => T::try_from(number).ok(),
        _ => None,
    };
    let rendered = format_value(&value.value);
    number.ok_or_else(|| {
        value.fault(format!("{key} must be an int from {least} to {most}, not {rendered}"))
    })
}

/// Returns the items of a list; refuses other values.
pub(super) fn items(list: &Located, what: &str) -> Result<Vec<Located>, Fault> {
    match &list.value {
        Value::List(items) => Ok(items.borrow().clone()),
        other => Err(list.fault(format!("{what} must be a list, not {}", other.kind()))),
    }
}

pub(super) fn text(value: &Located, key: &str) -> Result<String, Fault> {
    match &value.value {
        Value::Text(text) => Ok(text.clone()),
        other => Err(value.fault(format!("{key} must be a str, not {}", other.kind()))),
    }
}

/// Returns the last part of the dotted name of a class, which is given as a name or as a string.
pub(super) fn class(value: &Located) -> Result<String, Fault> {
    match &value.value {
        Value::Name(name) | Value::Text(name) => {
            Ok(name.rsplit('.').next().unwrap_or_default().to_owned())
        }
        other => Err(value.fault(format!("type must be a class, not {}", other.kind()))),
    }
}

/// Converts a value to JSON. Refuses classes and other names, and numbers that JSON cannot express.
pub(super) fn json(value: &Located) -> Result<Json, Fault> {
    Ok(match &value.value {
        Value::None => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Int(number) => (*number).into(),
        Value::Float(number) => {
            let number = Number::from_f64(*number).map(Json::Number);
            number.ok_or_else(|| value.fault("JSON has no such number"))?
        }
        Value::Text(text) => text.as_str().into(),
        Value::List(items) => items.borrow().iter().map(json).collect::<Result<_, _>>()?,
        Value::Dict(entries) => {
            let entries = entries.borrow();
            let pairs = entries.iter().map(|(key, value)| Ok((key.clone(), json(value)?)));
            Json::Object(pairs.collect::<Result<_, _>>()?)
        }
        Value::Name(name) => return Err(value.fault(format!("{name} cannot be sent"))),
    })
}

fn format_value(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Text(text) => format!("{text:?}"),
        other => other.kind().to_owned(),
    }
}
