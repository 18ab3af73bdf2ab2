//! How much config files may hold, so that a hostile one is refused and not obeyed.
//!
//! A line such as `x = x + x` doubles what a file holds, and lists that share their items hold more
//! than was ever written. What is made is counted before it is made, over all files of a command
//! line, and a value is walked through after the statement that binds or changes it.

use std::cell::Cell;

use super::value::{Fault, Located, Place, Value};

/// The deepest nesting of values and of expressions. CPython's own parser ends there, too.
pub(super) const MOST_DEPTH: usize = 200;

/// The most bytes of a config file.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// The most files that include one another in a row.
pub(super) const MOST_INCLUDES: usize = 20;

/// The most values that all files of a command line may make. [`TEXT_UNIT`] bytes count as one.
const MOST_VALUES: usize = 1_000_000;

/// The most steps that walking through values may take. A file of a thousand statements about a
/// thousand values each takes a million.
const MOST_STEPS: usize = 20_000_000;

const TEXT_UNIT: usize = 64;

/// Counts what the files of a command line make.
#[derive(Debug, Default)]
pub(super) struct Limits {
    made: Cell<usize>,
    steps: Cell<usize>,
}

impl Limits {
    /// Counts values that are about to be made.
    pub(super) fn make(&self, values: usize, place: &Place) -> Result<(), Fault> {
        let made = self.made.get().saturating_add(values);
        self.made.set(made);
        if made > MOST_VALUES { Err(too_many(place)) } else { Ok(()) }
    }

    /// Counts copies of these items that are about to be made.
    pub(super) fn copy(&self, items: &[Located], place: &Place) -> Result<(), Fault> {
        self.make(items.iter().map(|item| weight(&item.value)).sum(), place)
    }

    /// Refuses a value that is nested too deeply, that holds itself or that holds too much.
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

/// What a value counts for without the values in it.
pub(super) fn weight(value: &Value) -> usize {
    match value {
        Value::Text(text) => text_weight(text.len()),
        _ => 1,
    }
}

/// What a text of this length counts for.
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
