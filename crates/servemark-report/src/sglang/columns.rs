//! SGLang's format of numbers, and the layout of its tables.

use crate::fifty_columns::FiftyColumns;

/// Layout of SGLang's tables.
pub(super) const COLUMNS: FiftyColumns = FiftyColumns { before_title: "\n" };

/// Formats a number with two decimals, or its absence.
pub(super) fn fixed(value: Option<f64>) -> String {
    value.map_or_else(absent, |value| format!("{value:.2}"))
}

/// Text in the place of an absent number.
pub(super) fn absent() -> String {
    "n/a".to_owned()
}
