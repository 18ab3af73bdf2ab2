//! The client under study: the building blocks that a run is made of, and nothing else.

use std::sync::Arc;

use servemark::backends::{Route, WireBackend};
use servemark::client::{Credentials, Http1Stack, HttpTransport, Target, TargetSpec};
use servemark::core::{MonotonicClock, Session};
use servemark::pacer::SystemPacer;
use servemark::runner::{Collector, CostMeter, LoadSpec, Runner, StopHandle};
use servemark::schedule::ArrivalSpec;
use tokio::runtime::{Builder, Runtime};

use super::machine::waited_ms;
use super::{Load, Seen};
use crate::streams::backend;

/// A client with all of its connections open.
pub(super) struct Client {
    runtime: Runtime,
    clock: MonotonicClock,
    transport: Arc<HttpTransport<WireBackend>>,
}

impl Client {
    pub(super) fn connect(
        load: &Load,
        route: Route,
        stack: Http1Stack,
        url: &str,
    ) -> anyhow::Result<Self> {
        let clock = MonotonicClock::start();
        let mut spec = TargetSpec::new(url.parse()?);
        spec.http1_stack = stack;
        let target = Target::new(&spec, Credentials::new())?;
        let transport = Arc::new(HttpTransport::new(target, backend(route), clock));
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(transport.preconnect(load.streams))?;
        Ok(Self { runtime, clock, transport })
    }

    pub(super) fn run(self, load: &Load) -> anyhow::Result<Seen> {
        self.runtime.block_on(self.measure(load))
    }

    async fn measure(&self, load: &Load) -> anyhow::Result<Seen> {
        let sessions: Arc<[Session]> = load.samples().into_iter().map(Session::from).collect();
        let schedule = load.schedule();
        let (records, stop) = (Arc::new(Collector::default()), StopHandle::new());
        let observer = Arc::clone(&records);
        let pacer = SystemPacer::new(self.clock)?;
        let runner =
            Runner::new(pacer, &LoadSpec::new(ArrivalSpec::Burst), observer, stop.signal());
        let (meter, waited) = (CostMeter::start(&self.clock), waited_ms());
        runner.measure(&self.transport, &sessions, &schedule).await;
        let (cost, waited) = (meter.stop(&self.clock), waited_ms() - waited);
        Ok(Seen::new(records.take(), cost, waited))
    }
}
