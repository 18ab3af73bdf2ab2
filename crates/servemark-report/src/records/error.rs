//! Tables that cannot be filtered, binned or plotted as asked.

use servemark_core::JsonObject;
use thiserror::Error;

/// Why a table cannot be filtered, binned or plotted as asked.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum RecordsError {
    /// A run does not tell what its group is to be.
    #[error("a run has no {key:?}; it has {available}")]
    NoMetric {
        /// What is missing.
        key: String,
        /// What there is.
        available: String,
    },
    /// No run tells it.
    #[error("{what}={key:?} is in no result; there are {available}")]
    NoColumn {
        /// Which flag asks for it.
        what: &'static str,
        /// What is missing.
        key: String,
        /// What there is.
        available: String,
    },
    /// A text that should be a number.
    #[error("{key:?} must be a number, not {value}")]
    NotANumber {
        /// Whose value it is.
        key: String,
        /// The value.
        value: String,
    },
    /// A statement without an operator.
    #[error("{statement:?} has no operator; there are {operators}")]
    NoOperator {
        /// The statement.
        statement: String,
        /// What would do.
        operators: &'static str,
    },
    /// Values that have no order.
    #[error("{statement}: {value} is no number")]
    NoOrder {
        /// The statement.
        statement: String,
        /// A value.
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
