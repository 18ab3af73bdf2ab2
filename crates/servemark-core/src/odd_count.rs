//! A token count that a server did not write as the protocols do.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A token count of a server that is no JSON integer, such as `8.0`, `"8"` or `-3`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OddCount {
    /// The name of the field.
    pub field: Box<str>,
    /// The value as it was written; long ones are cut.
    pub value: Box<str>,
    /// Whether the value is a whole number, which was taken for the count. Any other was left out.
    pub is_read: bool,
}

impl OddCount {
    /// The value of a field, and whether it was taken for the count.
    pub fn new(field: &str, value: &str, is_read: bool) -> Self {
        Self { field: field.into(), value: value.into(), is_read }
    }
}

impl fmt::Display for OddCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.value)
    }
}
