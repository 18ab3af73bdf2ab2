//! Texts that are no settings of the simulator.

use thiserror::Error;

/// A text that is no setting of the simulator.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum MockSpecError {
    /// The text of a fault does not follow the grammar of [`Fault`](crate::Fault).
    #[error("{given:?} is not a fault: expected {expected}")]
    Fault {
        /// The text that was given.
        given: String,
        /// The form or forms that would be accepted.
        expected: String,
    },
    /// The text of a duration cannot be parsed.
    #[error("{given:?} is not a duration: expected milliseconds, or a number with us, ms or s")]
    Duration {
        /// The text that was given.
        given: String,
    },
}
