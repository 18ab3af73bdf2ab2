//! Ends a run when its figures are known precisely enough.

use servemark_core::{EarlyStop, RequestRecord, RunFacts};
use servemark_metrics::PrecisionWatch;
use servemark_plan::BenchPlan;
use servemark_runner::{Stop, StopHandle, StopSignal};
use tokio::task::JoinHandle;

use crate::RunContext;
use crate::run::draw::Load;

/// Analyses a run in progress and stops it when its figures are known precisely enough: no more
/// requests are sent, and requests in flight are completed. Aborting them would bias the result,
/// because the longest answers would be missing.
#[derive(Debug)]
pub(crate) struct Watcher {
    watch: PrecisionWatch,
    stop: StopHandle,
    early_stop: Option<EarlyStop>,
}

impl Watcher {
    /// Returns the watcher of a run, if the plan has precision targets.
    pub(crate) fn of(
        plan: &BenchPlan,
        load: &Load,
        facts: &RunFacts,
        stop: &RunStop,
    ) -> Option<Self> {
        let (until, stop) = (plan.scoring.until.as_ref()?, stop.own.as_ref()?);
        let first = load.leading(&plan.load);
        let watch = PrecisionWatch::new(&until.targets, until.confidence, facts, first);
        Some(Self { watch, stop: stop.clone(), early_stop: None })
    }

    /// Adds a completed request.
    pub(crate) fn add(&mut self, record: &RequestRecord) {
        if self.early_stop.is_none() {
            self.watch.add(record);
        }
    }

    /// Makes an interim analysis of the run if one is due.
    pub(crate) fn look(&mut self) {
        if self.early_stop.is_none() {
            self.early_stop = self.watch.look();
            if self.early_stop.is_some() {
                self.stop.raise(Stop::Drain);
            }
        }
    }

    /// Returns the interim analysis that ended the run, if any.
    pub(crate) fn early_stop(&self) -> Option<EarlyStop> {
        self.early_stop
    }
}

/// Stop signal of one run, raised by the user or when the figures are known. The user's stop
/// applies to all runs of a program, so a run with a stop handle of its own forwards the user's
/// stop to it.
#[derive(Debug)]
pub(crate) struct RunStop {
    signal: StopSignal,
    own: Option<StopHandle>,
    relay: Option<JoinHandle<()>>,
}

impl RunStop {
    /// Creates the stop signal for a run of this plan. Must be called on the runtime of the run.
    pub(crate) fn of(plan: &BenchPlan, context: &RunContext) -> Self {
        let users = context.stop.signal();
        if plan.scoring.until.is_none() {
            return Self { signal: users, own: None, relay: None };
        }
        let own = StopHandle::new();
        let relay = relay(users, own.clone());
        Self { signal: own.signal(), own: Some(own), relay: Some(relay) }
    }

    /// Returns the signal that the run follows.
    pub(crate) fn signal(&self) -> StopSignal {
        self.signal.clone()
    }
}

/// Forwards the user's stop to the run's own stop handle. Must be called on the runtime of the run.
pub(super) fn relay(users: StopSignal, own: StopHandle) -> JoinHandle<()> {
    tokio::spawn(async move {
        for level in [Stop::Drain, Stop::Now] {
            users.reached(level).await;
            own.raise(level);
        }
    })
}

impl Drop for RunStop {
    fn drop(&mut self) {
        if let Some(relay) = &self.relay {
            relay.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use servemark_core::{Delta, Finish, Header, Phase, Recorder, Sample, Sink, Stamp};
    use servemark_metrics::Precision;
    use servemark_plan::OutputSpec;
    use servemark_rng::NumpyRandom;

    use super::*;
    use crate::run::run_log_sink::{MemoryLimits, RecordSteps, RunLogSink};

    /// Returns the record of a request whose first token comes after about 100 ms.
    fn record(index: usize, random: &mut NumpyRandom) -> RequestRecord {
        let stamp = |us: u64| Stamp::from_nanos(us * 1000);
        let (at, noise) = (10_000 * index as u64, random.normal(0.0, 10.0));
        let ttft = format!("{:.0}", 100_000.0 + 1000.0 * noise).parse::<u64>().unwrap();
        let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 1, 1), stamp(at));
        recorder.record_sent(stamp(at));
        recorder.at(stamp(at + ttft)).delta(Delta::content("a"));
        recorder.finish(Ok(Finish::default()), stamp(at + ttft))
    }

    fn early_stop(target: &str) -> (Option<EarlyStop>, Stop) {
        let mut facts = RunFacts::default();
        facts.requests = 1000;
        let stop = StopHandle::new();
        let targets = Precision::list(target).unwrap();
        let watch = PrecisionWatch::new(&targets, 0.95, &facts, 0);
        let watcher = Watcher { watch, stop: stop.clone(), early_stop: None };
        let header = Header::new(0, facts, serde_json::Value::Null);
        let room = MemoryLimits::with_texts(0);
        let output = OutputSpec::default();
        let steps = RecordSteps { watcher: Some(watcher), ..RecordSteps::default() };
        let sink = RunLogSink::open(&output, header, &RunContext::default(), room, steps).unwrap();
        let (observer, mut random) = (sink.observer(), NumpyRandom::seeded(2));
        (0..1000).for_each(|index| observer.finished(record(index, &mut random)));
        drop(observer);
        (sink.close().early_stop, stop.level())
    }

    #[test]
    fn a_run_is_drained_when_its_figure_is_known_and_not_before() {
        let (stop, level) = early_stop("ttft:mean+-5%");
        assert!(stop.is_some_and(|stop| stop.requests >= 50), "{stop:?}");
        assert_eq!(level, Stop::Drain);
        assert_eq!(early_stop("ttft:mean+-0.01%"), (None, Stop::No));
    }

    #[tokio::test]
    async fn the_users_stop_is_passed_on_to_a_run_with_a_stop_of_its_own() {
        let context = RunContext::new(Arc::new(servemark_core::NoProgress));
        let (own, users) = (StopHandle::new(), context.stop.signal());
        let relay = relay(users, own.clone());
        let stop = RunStop { signal: own.signal(), own: Some(own), relay: Some(relay) };
        context.stop.escalate();
        stop.signal().reached(Stop::Drain).await;
        context.stop.escalate();
        stop.signal().reached(Stop::Now).await;
    }
}
