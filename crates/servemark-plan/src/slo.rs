//! Objectives of a run.

use serde::{Deserialize, Serialize};
use servemark_core::RunLog;
use servemark_metrics::{Audit, Judgement, MetricPolicy, Objective, gate};

/// Objectives of a run, or of every probe of a search, and the required confidence.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SloSpec {
    /// Objectives, all of which must hold.
    pub objectives: Vec<Objective>,
    /// Confidence with which each objective must be met or missed, between 0 and 1.
    #[serde(default = "usual_confidence")]
    pub confidence: f64,
}

impl SloSpec {
    /// Creates objectives with a confidence of 95 %.
    ///
    /// A mean is over the requests that succeeded. If there is an objective on a mean and none on
    /// failures, one is added: 95 % of the requests must succeed.
    pub fn new(objectives: impl IntoIterator<Item = Objective>) -> Self {
        let mut objectives: Vec<Objective> = objectives.into_iter().collect();
        let has_mean = objectives.iter().any(|objective| objective.share().is_none());
        let counts_failures = objectives.iter().any(Objective::is_of_share);
        if has_mean && !counts_failures {
            objectives.push(Objective::succeeding(BESIDE_A_MEAN));
        }
        Self { objectives, confidence: usual_confidence() }
    }

    /// Returns the objectives with another confidence, between 0 and 1.
    #[must_use]
    pub fn with_confidence(self, confidence: f64) -> Self {
        Self { confidence, ..self }
    }

    /// Judges a run with this audit by a policy's definitions, by all its requests.
    pub fn judge(&self, log: &RunLog, audit: &Audit, policy: &MetricPolicy) -> Vec<Judgement> {
        gate(log, audit, &self.objectives, policy, self.confidence)
    }
}

/// Confidence of objectives that name none.
const fn usual_confidence() -> f64 {
    0.95
}

const BESIDE_A_MEAN: f64 = 0.95;
