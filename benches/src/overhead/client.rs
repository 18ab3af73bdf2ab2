//! The client under study: the building blocks that a run is made of, and nothing else.

use std::sync::Arc;

use servemark::backends::{Route, WireBackend};
use servemark::client::{Credentials, Http1Stack, HttpTransport, Target, TargetSpec};
use servemark::core::{MonotonicClock, Sample, Session};
use servemark::pacer::SystemPacer;
use servemark::runner::{Collector, LoadSpec, Runner, StopHandle};
use servemark::schedule::Schedule;
use tokio::runtime::{Builder, Runtime};

use super::Reader;
use super::bed::{CostMeter, Seen};
use crate::streams::backend;

/// A client with all of its connections open.
pub(super) struct Client {
    runtime: Runtime,
    clock: MonotonicClock,
    transport: Arc<HttpTransport<WireBackend>>,
}

impl Client {
    /// The client as `reader` uses it.
    pub(super) fn connect(reader: Reader, url: &str, connections: usize) -> anyhow::Result<Self> {
        let (route, stack) = match reader {
            Reader::ChatByHyper => (Route::Chat, Http1Stack::Hyper),
            Reader::Generate => (Route::Generate, Http1Stack::Direct),
            Reader::Embeddings => (Route::Embeddings, Http1Stack::Direct),
            _ => (Route::Chat, Http1Stack::Direct),
        };
        let clock = MonotonicClock::start();
        let mut spec = TargetSpec::new(url.parse()?);
        spec.http1_stack = stack;
        let target = Target::new(&spec, Credentials::new())?;
        let transport = Arc::new(HttpTransport::new(target, backend(route), clock));
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(transport.preconnect(connections))?;
        Ok(Self { runtime, clock, transport })
    }

    pub(super) fn run(
        self,
        load: &LoadSpec,
        samples: Vec<Sample>,
        schedule: &Schedule,
    ) -> anyhow::Result<Seen> {
        let sessions: Arc<[Session]> = samples.into_iter().map(Session::from).collect();
        self.runtime.block_on(self.measure(load, &sessions, schedule))
    }

    async fn measure(
        &self,
        load: &LoadSpec,
        sessions: &Arc<[Session]>,
        schedule: &Schedule,
    ) -> anyhow::Result<Seen> {
        let (records, stop) = (Arc::new(Collector::default()), StopHandle::new());
        let observer = Arc::clone(&records);
        let pacer = SystemPacer::new(self.clock)?;
        let runner = Runner::new(pacer, load, observer, stop.signal());
        let meter = CostMeter::start(&self.clock);
        runner.measure(&self.transport, sessions, schedule).await;
        let cost = meter.stop(&self.clock);
        Ok(Seen { records: records.take(), cost })
    }
}
