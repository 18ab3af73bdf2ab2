//! Errors of filtering, binning and plotting a table.

use servemark_core::JsonObject;
use thiserror::Error;

/// A table cannot be filtered, binned or plotted as requested.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum RecordsError {
    /// A run lacks the key that it is grouped by.
    #[error("a run has no {key:?}; it has {available}")]
    NoMetric {
        /// The key that the run lacks.
        key: String,
        /// The keys of the run, separated by commas.
        available: String,
    },
    /// No run has the key.
    #[error("{what}={key:?} is in no result; there are {available}")]
    NoColumn {
        /// The option that names the key.
        what: &'static str,
        /// The key that no result has.
        key: String,
        /// The keys of all runs, separated by commas.
        available: String,
    },
    /// A value that must be a number is something else.
    #[error("{key:?} must be a number, not {value}")]
    NotANumber {
        /// The key of the value.
        key: String,
        /// The value.
        value: String,
    },
    /// An expression has no operator.
    #[error("{statement:?} has no operator; there are {operators}")]
    NoOperator {
        /// The expression.
        statement: String,
        /// The operators that are accepted.
        operators: &'static str,
    },
    /// A filter compares by size, but a value is not a number.
    #[error("{statement}: {value} is no number")]
    NoOrder {
        /// The filter expression.
        statement: String,
        /// The value that is not a number.
        value: String,
    },
}

impl RecordsError {
    pub(super) fn no_metric(key: &str, row: &JsonObject) -> Self {
        let available = row.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        Self::NoMetric { key: key.to_owned(), available }
    }

    pub(super) fn no_column(what: &'static str, key: &str, columns: &[&str]) -> Self {
        Self::NoColumn { what, key: key.to_owned(), available: columns.join(", ") }
    }
}
