//! What can be wrong with a data set's settings before anything is drawn.

use thiserror::Error;

/// Why settings describe no data set.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum SpecError {
    /// Nobody knows this name.
    #[error("there is no data set {name:?}; known are {known}")]
    UnknownName {
        /// What was asked for.
        name: String,
        /// Every name of the peer.
        known: String,
    },
    /// SGLang has it and this crate does not.
    #[error("the data set {0} is not built yet")]
    NotBuilt(&'static str),
    /// Lengths would not lie between nothing and the whole.
    #[error("a range ratio must lie in 0 to 1, not {0}; 1 makes every length the same")]
    RangeRatio(f64),
    /// No distribution has this exponent.
    #[error("a Zipf exponent must be a finite number above 0, not {0}")]
    ZipfAlpha(f64),
    /// SGLang refuses so short an output.
    #[error("a fixed output of {0} tokens is too small; ask for 4 or more")]
    OutputTooSmall(u32),
}
