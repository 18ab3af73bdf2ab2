//! Checks the precision of figures during a run.

use servemark_core::{EarlyStop, Phase, RequestRecord, RunFacts};
use servemark_statistics::Looks;

use super::{FIRST_LOOK, Precision, SampleLook};
use crate::{Estimand, Latency, MetricPolicy, RequestScore};

/// Collects the requests of a run in progress, and reports when its figures are known well enough.
#[derive(Clone, Debug)]
pub struct PrecisionWatch {
    targets: Vec<Precision>,
    confidence: f64,
    facts: RunFacts,
    first: usize,
    looks: Looks,
    policy: MetricPolicy,
    scores: Vec<RequestScore<'static>>,
    /// Number of requests at which the next look takes place; absent if that is the run's end.
    next: Option<usize>,
}

impl PrecisionWatch {
    /// Creates a watch over a run with these facts, whose first measured session has the index
    /// `first`, until its figures are known with this confidence.
    pub fn new(targets: &[Precision], confidence: f64, facts: &RunFacts, first: usize) -> Self {
        let looks = Looks::new(FIRST_LOOK, facts.requests);
        Self {
            targets: targets.to_vec(),
            confidence,
            facts: facts.clone(),
            first,
            looks,
            policy: MetricPolicy::native(),
            scores: Vec::new(),
            next: looks.after(0),
        }
    }

    /// Adds a request that is over. Only measured requests count.
    pub fn add(&mut self, record: &RequestRecord) {
        if record.phase != Phase::Measure {
            return;
        }
        let of_gaps = |target: &Precision| matches!(target.of, Estimand::Latency(Latency::Itl, _));
        let score = if self.targets.iter().any(of_gaps) {
            RequestScore::of_record_with_gaps(record, &self.facts, &self.policy)
        } else {
            RequestScore::of_record(record, &self.facts, &self.policy)
        };
        self.scores.push(score);
    }

    /// Looks at the run if it has grown enough since the last look. Returns an early stop if every
    /// figure is known well enough for the run to end.
    pub fn look(&mut self) -> Option<EarlyStop> {
        let requests = self.scores.len();
        self.next.filter(|next| requests >= *next)?;
        self.next = self.looks.after(requests);
        let Self { targets, facts, looks, confidence, first, .. } = self;
        let look =
            SampleLook { targets, facts, looks: *looks, confidence: *confidence, first: *first };
        let found = look.at(&mut self.scores);
        let is_known = found.iter().all(|known| known.is_known);
        is_known.then(|| EarlyStop::new(self.looks.number(requests), requests))
    }
}
