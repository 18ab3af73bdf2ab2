//! What all shards of a run have in common.

use std::sync::Arc;
use std::time::Duration;

use servemark_core::Clock;

use crate::conversation::SessionRules;
use crate::gate::Gate;
use crate::observer::Observed;
use crate::{LoadSpec, LookAheadSpec, Observer, StopSignal};

/// What all shards of a run have in common. A copy is the same run's.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    pub(crate) gate: Gate,
    pub(crate) look_ahead: LookAheadSpec,
    pub(crate) sessions: SessionRules,
    pub(crate) lasts: Option<Duration>,
    pub(crate) stop: StopSignal,
    pub(crate) observer: Observed,
}

impl Orders {
    pub(crate) fn new(load: &LoadSpec, observer: Arc<dyn Observer>, stop: StopSignal) -> Self {
        Self {
            gate: Gate::new(load),
            look_ahead: load.look_ahead,
            sessions: SessionRules::of(&load.sessions),
            lasts: load.lasts,
            stop,
            observer: Observed(observer),
        }
    }

    /// Waits until whoever keeps the records is not too far behind.
    pub(crate) async fn room(&self, clock: &impl Clock) {
        if let Some(backlog) = self.observer.0.backlog() {
            backlog.room(clock).await;
        }
    }
}
