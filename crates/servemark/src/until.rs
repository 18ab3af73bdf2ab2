//! A run that ends when its figures are known.

use servemark_core::{EarlyStop, RequestRecord};
use servemark_metrics::PrecisionWatch;
use servemark_plan::BenchPlan;
use servemark_runner::{Stop, StopHandle, StopSignal};
use tokio::task::JoinHandle;

use crate::RunContext;
use crate::draw::Load;

/// Looks at a run while it is made, and ends it when its figures are known: nothing more is sent, and
/// what is in flight is waited for. Cut off, the longest answers would be missing.
#[derive(Debug)]
pub(crate) struct Watcher {
    watch: PrecisionWatch,
    stop: StopHandle,
    early_stop: Option<EarlyStop>,
}

impl Watcher {
    /// What watches a run of this plan, if the plan asks for that.
    pub(crate) fn of(
        plan: &BenchPlan,
        load: &Load,
        facts: &servemark_core::RunFacts,
        stop: &RunStop,
    ) -> Option<Self> {
        let (until, stop) = (plan.scoring.until.as_ref()?, stop.own.as_ref()?);
        let first = load.leading(&plan.load);
        let watch = PrecisionWatch::new(&until.targets, until.confidence, facts, first);
        Some(Self { watch, stop: stop.clone(), early_stop: None })
    }

    /// Adds a request that is over.
    pub(crate) fn add(&mut self, record: &RequestRecord) {
        if self.early_stop.is_none() {
            self.watch.add(record);
        }
    }

    /// Looks at the run, if it is time for that.
    pub(crate) fn look(&mut self) {
        if self.early_stop.is_none() {
            self.early_stop = self.watch.look();
            if self.early_stop.is_some() {
                self.stop.raise(Stop::Drain);
            }
        }
    }

    /// The look that ended the run, if one did.
    pub(crate) fn early_stop(&self) -> Option<EarlyStop> {
        self.early_stop
    }
}

/// What stops one run: the user alone, or figures that are known as well. The user's stop holds for all
/// runs of a program, so a run that has a stop of its own passes the user's on to it.
#[derive(Debug)]
pub(crate) struct RunStop {
    signal: StopSignal,
    own: Option<StopHandle>,
    relay: Option<JoinHandle<()>>,
}

impl RunStop {
    /// The stop of a run of this plan. It must be made on the runtime of the run.
    pub(crate) fn of(plan: &BenchPlan, context: &RunContext) -> Self {
        let users = context.stop.signal();
        if plan.scoring.until.is_none() {
            return Self { signal: users, own: None, relay: None };
        }
        let own = StopHandle::new();
        let raised = own.clone();
        let relay = tokio::spawn(async move {
            for level in [Stop::Drain, Stop::Now] {
                users.reached(level).await;
                raised.raise(level);
            }
        });
        Self { signal: own.signal(), own: Some(own), relay: Some(relay) }
    }

    /// The signal that the run follows.
    pub(crate) fn signal(&self) -> StopSignal {
        self.signal.clone()
    }
}

impl Drop for RunStop {
    fn drop(&mut self) {
        if let Some(relay) = &self.relay {
            relay.abort();
        }
    }
}
