//! What is asked of a run's numbers.

use serde::{Deserialize, Serialize};
use servemark_core::RunLog;
use servemark_metrics::{Audit, Judgement, MetricPolicy, Objective, gate};

/// What is asked of a run, or of every probe of a search, and how sure an answer must be.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SloSpec {
    /// What must hold, all of it.
    pub objectives: Vec<Objective>,
    /// How sure each must be held or missed, between 0 and 1.
    pub confidence: f64,
}

impl SloSpec {
    /// Objectives that are to hold with a confidence of 95 %.
    ///
    /// A mean is that of the requests that succeeded: where one is asked for and nothing is said of
    /// failures, 95 % of the requests must succeed besides.
    pub fn new(objectives: impl IntoIterator<Item = Objective>) -> Self {
        let mut objectives: Vec<Objective> = objectives.into_iter().collect();
        let has_mean = objectives.iter().any(|objective| objective.share().is_none());
        let counts_failures = objectives.iter().any(Objective::is_of_share);
        if has_mean && !counts_failures {
            objectives.push(Objective::succeeding(BESIDE_A_MEAN));
        }
        Self { objectives, confidence: 0.95 }
    }

    /// The same with another confidence, between 0 and 1.
    #[must_use]
    pub fn with_confidence(self, confidence: f64) -> Self {
        Self { confidence, ..self }
    }

    /// What a run with this audit shows of each objective by a policy's definitions, all its requests
    /// counted.
    pub fn judge(&self, log: &RunLog, audit: &Audit, policy: &MetricPolicy) -> Vec<Judgement> {
        gate(log, audit, &self.objectives, policy, self.confidence)
    }
}

const BESIDE_A_MEAN: f64 = 0.95;
