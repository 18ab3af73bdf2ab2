//! The client under study: the building blocks of a run, and nothing else.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;

use servemark::backends::{Route, WireBackend};
use servemark::client::{Credentials, Http1Stack, HttpTransport, Target, TargetSpec};
use servemark::core::{Clock, MonotonicClock, Sample, Session};
use servemark::pacer::SystemPacer;
use servemark::runner::{Collector, Fleet, LoadSpec, Runner, Share, StopHandle};
use servemark::schedule::Schedule;
use tokio::runtime::{Builder, Runtime};

use super::Reader;
use super::test_bed::{ClientFigures, CostMeter, ObservedRun};
use crate::streams::backend;

/// A client that has not yet opened its connections.
pub(super) struct Client {
    runtime: Runtime,
    clock: MonotonicClock,
    transport: HttpTransport<WireBackend>,
    connections: usize,
}

type Transport = Arc<HttpTransport<WireBackend>>;

impl Client {
    /// Creates the client as `reader` uses it, with `connections` connections.
    pub(super) fn new(reader: Reader, url: &str, connections: usize) -> anyhow::Result<Self> {
        let (route, stack) = match reader {
            Reader::ChatByHyper => (Route::CHAT, Http1Stack::Hyper),
            Reader::Generate => (Route::GENERATE, Http1Stack::Direct),
            Reader::Embeddings => (Route::EMBEDDINGS, Http1Stack::Direct),
            _ => (Route::CHAT, Http1Stack::Direct),
        };
        let clock = MonotonicClock::start();
        let mut spec = TargetSpec::new(url.parse()?);
        spec.http1_stack = stack;
        let target = Target::new(&spec, Credentials::new())?;
        let transport = HttpTransport::new(target, backend(route), clock);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, clock, transport, connections })
    }

    /// Lets another thread write the requests at their due times.
    pub(super) fn precise(self) -> anyhow::Result<Self> {
        Ok(Self { transport: self.transport.with_precise_send()?, ..self })
    }

    pub(super) fn run(
        self,
        load: &LoadSpec,
        samples: Vec<Sample>,
        schedule: &Schedule,
    ) -> anyhow::Result<ObservedRun> {
        let shards = load.shards.unwrap_or(NonZeroUsize::MIN);
        let first = self.connections.div_ceil(shards.get());
        let Self { runtime, clock, transport, connections } = self;
        runtime.block_on(transport.preconnect(first))?;
        let sessions: Arc<[Session]> = samples.into_iter().map(Session::from).collect();
        let ready = Ready { clock, transport: Arc::new(transport), connections };
        runtime.block_on(ready.measure(load, &sessions, schedule))
    }
}

/// A client whose connections are open.
struct Ready {
    clock: MonotonicClock,
    transport: Transport,
    connections: usize,
}

impl Ready {
    async fn measure(
        &self,
        load: &LoadSpec,
        sessions: &Arc<[Session]>,
        schedule: &Schedule,
    ) -> anyhow::Result<ObservedRun> {
        let (records, stop) = (Arc::new(Collector::default()), StopHandle::new());
        let observer = Arc::clone(&records);
        let pacer = SystemPacer::new(self.clock)?;
        let runner = Runner::new(pacer, load, observer, stop.signal());
        let fleet = Fleet::new(&runner, load.shards.unwrap_or(NonZeroUsize::MIN));
        let meter = CostMeter::start(&self.clock);
        let measured =
            fleet.measure(&self.transport, sessions, schedule, self.shard_factory()).await?;
        let cost = meter.stop(&self.clock);
        let ended = self.clock.now();
        Ok(ObservedRun {
            records: records.take(),
            cost,
            own: Some(ClientFigures { cost: measured.cost, ended }),
        })
    }

    /// Returns the function that gives every other shard its timer and its connections.
    fn shard_factory(
        &self,
    ) -> impl AsyncFn(Share) -> io::Result<(SystemPacer, Transport)> + Send + Sync + use<> {
        let (transport, clock, connections) =
            (Arc::clone(&self.transport), self.clock, self.connections);
        async move |share| {
            let own = Arc::new(transport.for_shard());
            own.preconnect(share.of(connections)).await.map_err(io::Error::other)?;
            Ok((SystemPacer::new(clock)?, own))
        }
    }
}
