//! A test world with a paused clock, a scripted server and a runner.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use servemark_core::{RequestError, RequestRecord, Sample, Session, Stamp};
use servemark_pacer::TokioPacer;
use servemark_runner::{Collector, LoadSpec, Runner, StopHandle};
use servemark_schedule::{ArrivalSpec, Schedule};
use servemark_testkit::{Script, ScriptedTransport};

/// A runner with a scripted transport, and its records.
pub(crate) struct World {
    pub(crate) runner: Runner,
    pub(crate) transport: Arc<ScriptedTransport<TokioPacer>>,
    pub(crate) collector: Arc<Collector>,
    pub(crate) stop: StopHandle,
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn at(millis: u64) -> Stamp {
    Stamp::ZERO + ms(millis)
}

fn load(limit: Option<usize>) -> LoadSpec {
    let mut load = LoadSpec::new(ArrivalSpec::Burst);
    load.max_concurrency = limit.and_then(NonZeroUsize::new);
    load
}

impl World {
    /// Creates a world whose answers have two pieces, at 10 ms and at 15 ms.
    pub(crate) fn with_limit(limit: Option<usize>) -> Self {
        Self::scripted(limit, |_| Ok(Script::streaming(ms(10), ms(5), 2)))
    }

    pub(crate) fn scripted(
        limit: Option<usize>,
        script: impl Fn(&Sample) -> Result<Script, RequestError> + Send + Sync + 'static,
    ) -> Self {
        Self::of(load(limit), script)
    }

    /// Creates a world with the answers of [`with_limit`](Self::with_limit) that sends requests for
    /// `lasts_ms` milliseconds.
    pub(crate) fn lasting(limit: Option<usize>, lasts_ms: u64) -> Self {
        let mut load = load(limit);
        load.lasts = Some(ms(lasts_ms));
        Self::of(load, |_| Ok(Script::streaming(ms(10), ms(5), 2)))
    }

    pub(crate) fn of(
        mut load: LoadSpec,
        script: impl Fn(&Sample) -> Result<Script, RequestError> + Send + Sync + 'static,
    ) -> Self {
        let pacer = TokioPacer::start();
        load.look_ahead.calls = NonZeroUsize::new(2).expect("two is not zero");
        let (collector, stop) = (Arc::new(Collector::default()), StopHandle::new());
        Self {
            runner: Runner::new(pacer, &load, collector.clone(), stop.signal()),
            transport: ScriptedTransport::new(pacer, script),
            collector,
            stop,
        }
    }

    /// Sends a request at each offset.
    pub(crate) async fn measure(&self, offsets_ms: &[u64]) -> Vec<RequestRecord> {
        let session = Session::from(Sample::new("hi", 1, 2));
        self.measure_sessions(vec![session; offsets_ms.len()], offsets_ms).await
    }

    /// Starts each session at its offset.
    pub(crate) async fn measure_sessions(
        &self,
        sessions: Vec<Session>,
        offsets_ms: &[u64],
    ) -> Vec<RequestRecord> {
        let schedule: Schedule = offsets_ms.iter().copied().map(ms).collect();
        self.runner.measure(&self.transport, &sessions.into(), &schedule).await;
        let mut records = self.collector.take();
        records.sort_by_key(RequestRecord::key);
        records
    }
}

#[track_caller]
pub(crate) fn check(
    records: &[RequestRecord],
    field: impl Fn(&RequestRecord) -> Option<Stamp>,
    expected_ms: &[u64],
) {
    let found: Vec<_> = records.iter().map(field).collect();
    let expected: Vec<_> = expected_ms.iter().map(|millis| Some(at(*millis))).collect();
    assert_eq!(found, expected);
}
