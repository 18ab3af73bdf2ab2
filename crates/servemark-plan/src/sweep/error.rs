//! Sweeps that cannot be.

use std::sync::Arc;

use thiserror::Error;

use crate::PlanError;

/// Why a sweep cannot be.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum SweepError {
    /// There is nothing to run.
    #[error("the sweep has no point")]
    NoPoints,
    /// An axis without values.
    #[error("no value is given for {knob}")]
    NoValues {
        /// The axis.
        knob: String,
    },
    /// A point's plan cannot run.
    #[error("point {name}")]
    Plan {
        /// The point.
        name: String,
        /// Why.
        source: PlanError,
    },
    /// Two points are the same.
    #[error("the sweep has the point {name} twice; ask for repeats instead")]
    Twice {
        /// Its name.
        name: String,
    },
    /// Axes that cannot move together.
    #[error("axes that move together need equally many values, not {first} and {other}")]
    Uneven {
        /// How many values the first has.
        first: usize,
        /// How many another has.
        other: usize,
    },
    /// A path that leads nowhere.
    #[error("a plan has no field {path}; the nearest are {nearest}")]
    UnknownField {
        /// The path.
        path: String,
        /// Fields that there are.
        nearest: String,
    },
    /// Values that make no plan.
    #[error("{settings} makes no plan")]
    Unreadable {
        /// The values.
        settings: String,
        /// Why.
        source: Arc<serde_json::Error>,
    },
    /// A value that cannot be.
    #[error("{knob}={value}: {why}")]
    Value {
        /// What was to be changed.
        knob: String,
        /// To what.
        value: String,
        /// What is wrong with it.
        why: String,
    },
}
