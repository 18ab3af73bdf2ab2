//! Token counts that a server did not write as JSON integers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A server's token count that is not a JSON integer, such as `8.0`, `"8"` or `-3`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OddCount {
    /// Name of the field.
    pub field: Box<str>,
    /// The value as the server wrote it; long ones are truncated.
    pub value: Box<str>,
    /// Whether the value is a whole number and was used as the count. Other values are ignored.
    pub is_read: bool,
}

impl OddCount {
    /// Creates the count of a field, and whether its value was used.
    pub fn new(field: &str, value: &str, is_read: bool) -> Self {
        Self { field: field.into(), value: value.into(), is_read }
    }
}

impl fmt::Display for OddCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.value)
    }
}
