//! Why a search cannot be.

use thiserror::Error;

/// Why a search cannot be.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum SearchError {
    /// Bounds between which nothing lies.
    #[error("a search needs bounds above zero, the smaller one first, not {lower} and {upper}")]
    Bounds {
        /// The lower one.
        lower: f64,
        /// The upper one.
        upper: f64,
    },
    /// A confidence that nothing has.
    #[error("the confidence must lie between 50 % and 100 %, not {given}")]
    Confidence {
        /// What was asked for.
        given: f64,
    },
    /// A growth of rounds that makes none longer, or all too long.
    #[error("a round must be 1 to 10 times as long as the one before it, not {given}")]
    Growth {
        /// What was asked for.
        given: f64,
    },
    /// The share of good requests without saying what a good one is.
    #[error("an objective of goodput needs limits that a good request keeps to (--goodput)")]
    NoGoodput,
    /// Nothing that must hold.
    #[error("a search needs an objective, such as ttft:p99<2s")]
    NoObjective,
    /// A precision that cannot be reached, or that everything has.
    #[error("the precision must lie between 0 and 1, not {share}")]
    Precision {
        /// What was asked for.
        share: f64,
    },
    /// Two tiers of one name.
    #[error(
        "there are two tiers of objectives named {name}; give all objectives of a tier in one list"
    )]
    SameTier {
        /// The name.
        name: String,
    },
}
