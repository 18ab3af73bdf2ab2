//! Errors of searches that cannot run.

use thiserror::Error;

/// Reason why a search cannot run.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SearchError {
    /// The bounds are not above zero, not finite or not in order.
    #[error("a search needs bounds above zero, the smaller one first, not {lower} and {upper}")]
    Bounds {
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
    },
    /// The confidence is out of range.
    #[error("the confidence must lie between 50 % and 100 %, not {given}")]
    Confidence {
        /// Confidence that was given.
        given: f64,
    },
    /// The growth of rounds is out of range.
    #[error("a round must be 1 to 10 times as long as the one before it, not {given}")]
    GrowthFactor {
        /// Factor that was given.
        given: f64,
    },
    /// There is an objective on goodput without limits for a good request.
    #[error("an objective of goodput needs limits that a good request keeps to (`scoring.slos`)")]
    NoGoodput,
    /// There is no objective.
    #[error("a search needs an objective, such as ttft:p99<2s")]
    NoObjective,
    /// The precision is out of range.
    #[error("the precision must lie between 0 and 1, not {share}")]
    Precision {
        /// Precision that was given.
        share: f64,
    },
    /// Two tiers have the same name.
    #[error(
        "there are two tiers of objectives named {name}; give all objectives of a tier in one list"
    )]
    SameTier {
        /// Name that the two tiers share.
        name: String,
    },
}
