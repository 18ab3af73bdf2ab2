//! An object whose keys keep their order.

use serde_json::Value;
use servemark_core::JsonObject;

/// Keys in insertion order; a key that is set again keeps its position.
#[derive(Default)]
pub(super) struct Entries(pub(super) JsonObject);

impl Entries {
    pub(super) fn put(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(key.into(), value.into());
    }

    /// Sets a key that is present and null.
    pub(super) fn fill(&mut self, key: &str, value: impl Into<Value>) {
        if self.0.get(key).is_some_and(Value::is_null) {
            self.put(key, value);
        }
    }
}
