//! Errors of sweeps that cannot run.

use std::sync::Arc;

use thiserror::Error;

use crate::PlanError;

/// Reason why a sweep cannot run.
#[derive(Clone, Debug, Error)]
pub enum SweepError {
    /// The sweep has no points.
    #[error("the sweep has no point")]
    NoPoints,
    /// An axis has no values.
    #[error("no value is given for {setting}")]
    NoValues {
        /// Name of the axis.
        setting: String,
    },
    /// A point's plan cannot run.
    #[error("point {name}")]
    Plan {
        /// Name of the point.
        name: String,
        /// Why the plan cannot run.
        source: PlanError,
    },
    /// Two points have the same name.
    #[error("the sweep has the point {name} twice; ask for repeats instead")]
    Twice {
        /// Name of the points.
        name: String,
    },
    /// Axes that move together have different numbers of values.
    #[error("axes that move together need equally many values, not {first} and {other}")]
    Uneven {
        /// Number of values of the first axis.
        first: usize,
        /// Number of values of another axis.
        other: usize,
    },
    /// A path names no field of the plan.
    #[error("a plan has no field {path}; the nearest are {nearest}")]
    UnknownField {
        /// The path.
        path: String,
        /// The nearest existing fields.
        nearest: String,
    },
    /// Settings do not form a plan.
    #[error("{settings} makes no plan")]
    Unreadable {
        /// The settings.
        settings: String,
        /// Why they do not form a plan.
        source: Arc<serde_json::Error>,
    },
    /// A setting does not take a value.
    #[error("{setting}={value}: {why}")]
    Value {
        /// Name of the setting.
        setting: String,
        /// The value.
        value: String,
        /// Why the setting does not take it.
        why: String,
    },
}
