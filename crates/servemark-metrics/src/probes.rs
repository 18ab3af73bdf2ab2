//! Latencies of small requests that were sent beside the load.

use serde::Serialize;
use servemark_core::RunLog;

use crate::{MetricPolicy, RequestScore, Summary};

/// Results of small requests that were sent beside the load.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Probes {
    /// Number of probes that succeeded.
    pub completed: usize,
    /// Number of probes that failed.
    pub failed: usize,
    /// End-to-end latencies of the probes that succeeded.
    pub e2el: Summary,
}

impl Probes {
    /// Summarises the probes of a run; absent if none succeeded.
    pub(crate) fn of(log: &RunLog, policy: &MetricPolicy) -> Option<Self> {
        let scores = RequestScore::of_probes(log, policy);
        let successes = scores.iter().filter(|score| score.success);
        let latencies_s: Vec<f64> = successes.map(|score| score.latency_s).collect();
        let completed = latencies_s.len();
        let e2el = Summary::of(&latencies_s, &policy.clone().with_percentiles(vec![99.0]));
        (completed > 0).then_some(Self { completed, failed: scores.len() - completed, e2el })
    }
}
