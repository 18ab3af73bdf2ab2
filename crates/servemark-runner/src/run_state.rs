//! State that all shards of a run share.

use std::sync::Arc;

use servemark_core::{Clock, Phase, RequestRecord};

use crate::conversation::SessionRules;
use crate::deadline::Deadline;
use crate::gate::Gate;
use crate::observer::Observed;
use crate::{LoadSpec, LookAheadSpec, Observer, RetrySpec, Share, SharedPlaces, Stop, StopSignal};

/// State that all shards of a run share. Clones belong to the same run.
#[derive(Clone, Debug)]
pub(crate) struct RunState {
    /// The part of the run that belongs to this process.
    pub(crate) share: Share,
    pub(crate) gate: Gate,
    pub(crate) look_ahead: LookAheadSpec,
    /// Whether the sessions start over after the last one.
    pub(crate) in_rounds: bool,
    pub(crate) sessions: SessionRules,
    pub(crate) deadline: Deadline,
    lead_in: usize,
    retry: Option<Arc<RetrySpec>>,
    pub(crate) stop: StopSignal,
    pub(crate) observer: Observed,
}

impl RunState {
    pub(crate) fn new(
        load: &LoadSpec,
        share: Share,
        places: Option<Arc<SharedPlaces>>,
        observer: Arc<dyn Observer>,
        stop: StopSignal,
    ) -> Self {
        Self {
            share,
            gate: Gate::new(load, share, places),
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

    /// Returns the phase of the session at `index`: the first sessions of a measurement may be
    /// lead-in, which counts as warm-up.
    pub(crate) fn phase_of(&self, index: usize, phase: Phase) -> Phase {
        let leads_in = phase == Phase::Measure && index < self.lead_in;
        if leads_in { Phase::Warmup } else { phase }
    }

    /// Returns whether failed requests are retried at all.
    pub(crate) fn may_retry(&self) -> bool {
        self.retry.is_some()
    }

    /// Returns whether a request with this record is sent again.
    pub(crate) fn retries(&self, record: &RequestRecord) -> bool {
        let is_requested = self.retry.as_ref().is_some_and(|retry| retry.follows(record));
        is_requested && !self.stop.is(Stop::Drain)
    }

    /// Waits while too many finished records are not written yet.
    pub(crate) async fn room(&self, clock: &dyn Clock) {
        if let Some(backlog) = self.observer.0.backlog() {
            backlog.room(clock).await;
        }
    }
}
