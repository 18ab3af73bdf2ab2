//! What all shards of a run have in common.

use std::sync::Arc;

use servemark_core::{Clock, Phase, RequestRecord};

use crate::conversation::SessionRules;
use crate::deadline::Deadline;
use crate::gate::Gate;
use crate::observer::Observed;
use crate::{LoadSpec, LookAheadSpec, Observer, RetrySpec, Stop, StopSignal};

/// What all shards of a run have in common. A copy is the same run's.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    pub(crate) gate: Gate,
    pub(crate) look_ahead: LookAheadSpec,
    /// Whether the first session follows the last.
    pub(crate) in_rounds: bool,
    pub(crate) sessions: SessionRules,
    pub(crate) deadline: Deadline,
    lead_in: usize,
    retry: Option<Arc<RetrySpec>>,
    pub(crate) stop: StopSignal,
    pub(crate) observer: Observed,
}

impl Orders {
    pub(crate) fn new(load: &LoadSpec, observer: Arc<dyn Observer>, stop: StopSignal) -> Self {
        Self {
            gate: Gate::new(load),
            look_ahead: load.look_ahead,
            in_rounds: load.in_rounds,
            sessions: SessionRules::of(&load.sessions),
            deadline: Deadline::of(load.lasts),
            lead_in: load.lead_in.in_stream(),
            retry: load.retry.clone().map(Arc::new),
            stop,
            observer: Observed(observer),
        }
    }

    /// What a session of a phase is sent for: the first of a measurement may only lead to it.
    pub(crate) fn phase_of(&self, index: usize, phase: Phase) -> Phase {
        let leads_in = phase == Phase::Measure && index < self.lead_in;
        if leads_in { Phase::Warmup } else { phase }
    }

    /// Whether any request is sent again.
    pub(crate) fn may_retry(&self) -> bool {
        self.retry.is_some()
    }

    /// Whether a request that ended so is sent again.
    pub(crate) fn retries(&self, record: &RequestRecord) -> bool {
        let is_asked = self.retry.as_ref().is_some_and(|retry| retry.follows(record));
        is_asked && !self.stop.is(Stop::Drain)
    }

    /// Waits until whoever keeps the records is not too far behind.
    pub(crate) async fn room(&self, clock: &impl Clock) {
        if let Some(backlog) = self.observer.0.backlog() {
            backlog.room(clock).await;
        }
    }
}
