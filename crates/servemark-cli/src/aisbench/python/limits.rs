//! Limits on the content of config files, so that a hostile file is refused before it exhausts
//! memory or time.
//!
//! A line such as `x = x + x` doubles the content of a file, and lists that share items contain
//! more than was ever written. Values are therefore counted before they are made, over all files of
//! a command line, and a value is checked recursively after each statement that binds or changes
//! it.

use std::cell::Cell;

use super::value::{Fault, Located, Place, Value};

/// Maximum nesting depth of values and of expressions. CPython's own parser has the same limit.
pub(super) const MOST_DEPTH: usize = 200;

/// Maximum size of a config file in bytes.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// Maximum length of a chain of files of which each includes the next.
pub(super) const MOST_INCLUDES: usize = 20;

/// Maximum number of values that all files of a command line may make. [`TEXT_UNIT`] bytes of text
/// count as one value.
const MOST_VALUES: usize = 1_000_000;

/// Maximum number of steps that recursive checks of values may take. A file of a thousand
/// statements about a thousand values each takes a million.
const MOST_STEPS: usize = 20_000_000;

const TEXT_UNIT: usize = 64;

/// Counts the values that the files of a command line make, and the steps of their checks.
#[derive(Debug, Default)]
pub(super) struct Limits {
    made: Cell<usize>,
    steps: Cell<usize>,
}

impl Limits {
    /// Counts values that are about to be made. Refuses them if there are too many in total.
    pub(super) fn make(&self, values: usize, place: &Place) -> Result<(), Fault> {
        let made = self.made.get().saturating_add(values);
        self.made.set(made);
        if made > MOST_VALUES { Err(too_many(place)) } else { Ok(()) }
    }

    /// Counts copies of these items that are about to be made. Refuses them if there are too many
    /// values in total.
    pub(super) fn copy(&self, items: &[Located], place: &Place) -> Result<(), Fault> {
        self.make(items.iter().map(|item| weight(&item.value)).sum(), place)
    }

    /// Refuses a value that is nested too deeply, contains itself or contains too much.
    pub(super) fn check(&self, value: &Located, place: &Place) -> Result<(), Fault> {
        let mut left = MOST_VALUES;
        self.walk(&value.value, 0, &mut left, place)
    }

    fn walk(
        &self,
        value: &Value,
        depth: usize,
        left: &mut usize,
        place: &Place,
    ) -> Result<(), Fault> {
        if depth > MOST_DEPTH {
            return Err(too_deep(place));
        }
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        *left = left.checked_sub(weight(value)).ok_or_else(|| too_many(place))?;
        if steps > MOST_STEPS {
            return Err(too_many(place));
        }
        let mut inner = |item: &Located| self.walk(&item.value, depth + 1, left, place);
        match value {
            Value::List(items) => items.borrow().iter().try_for_each(inner),
            Value::Dict(entries) => entries.borrow().iter().try_for_each(|(_, item)| inner(item)),
            _ => Ok(()),
        }
    }
}

/// Returns the number of values that a value counts as, without the values inside it.
pub(super) fn weight(value: &Value) -> usize {
    match value {
        Value::Text(text) => text_weight(text.len()),
        _ => 1,
    }
}

/// Returns the number of values that a text of this many bytes counts as.
pub(super) fn text_weight(bytes: usize) -> usize {
    1 + bytes / TEXT_UNIT
}

pub(super) fn too_deep(place: &Place) -> Fault {
    place.fault(format!("values are nested more than {MOST_DEPTH} deep here, which is the limit"))
}

fn too_many(place: &Place) -> Fault {
    place.fault(format!(
        "the config makes more than {MOST_VALUES} values or {} MB of text here, which is the limit",
        MOST_VALUES * TEXT_UNIT / 1_000_000
    ))
}
