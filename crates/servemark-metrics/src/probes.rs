//! How small requests fared that were sent beside the load.

use serde::Serialize;
use servemark_core::RunLog;

use crate::{MetricPolicy, RequestScore, Summary};

/// How small requests fared that were sent beside the load.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Probes {
    /// Those that were answered well.
    pub completed: usize,
    /// The others.
    pub failed: usize,
    /// The end-to-end latencies of the former.
    pub e2el: Summary,
}

impl Probes {
    /// Those of a run, if any was answered well.
    pub(crate) fn of(log: &RunLog, policy: &MetricPolicy) -> Option<Self> {
        let scores = RequestScore::of_probes(log, policy);
        let successes = scores.iter().filter(|score| score.success);
        let latencies_s: Vec<f64> = successes.map(|score| score.latency_s).collect();
        let completed = latencies_s.len();
        let e2el = Summary::of(&latencies_s, &policy.clone().with_percentiles(vec![99.0]));
        (completed > 0).then_some(Self { completed, failed: scores.len() - completed, e2el })
    }
}
