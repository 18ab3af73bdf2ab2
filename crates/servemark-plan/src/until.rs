//! Required precision of figures that ends a run.

use serde::{Deserialize, Serialize};
use servemark_metrics::Precision;

/// Figures that end a run when all of them are known well enough. The plan's number of requests and
/// its duration remain limits.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct UntilSpec {
    /// Required precision of each figure.
    pub targets: Vec<Precision>,
    /// Confidence of the intervals for all looks at the run together, from 0 to 1.
    pub confidence: f64,
}

impl UntilSpec {
    /// Creates figures that must be known with a confidence of 95 %.
    pub fn new(targets: impl IntoIterator<Item = Precision>) -> Self {
        Self { targets: targets.into_iter().collect(), confidence: 0.95 }
    }
}
