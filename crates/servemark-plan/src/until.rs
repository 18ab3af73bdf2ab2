//! How well figures must be known before a run may end.

use serde::{Deserialize, Serialize};
use servemark_metrics::Precision;

/// Figures that end a run when all of them are known well enough. The number of requests and the time
/// of the plan stay its limits.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct UntilSpec {
    /// How well each figure must be known.
    pub targets: Vec<Precision>,
    /// Confidence of the intervals, all looks at the run together, from 0 to 1.
    pub confidence: f64,
}

impl UntilSpec {
    /// Figures that are to be known with a confidence of 95 %.
    pub fn new(targets: impl IntoIterator<Item = Precision>) -> Self {
        Self { targets: targets.into_iter().collect(), confidence: 0.95 }
    }
}
