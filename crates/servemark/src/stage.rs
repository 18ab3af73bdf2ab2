//! Everything between the drawn load and the last answer.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use servemark_backends::{BackendSpec, WireBackend};
use servemark_client::{ClientError, HttpTransport};
use servemark_core::{
    ClientCost, Clock, CountedWork, MonotonicClock, RequestError, ServerCounters, Session, Stamp,
};
use servemark_pacer::SystemPacer;
use servemark_plan::BenchPlan;
use servemark_runner::{self as runner, Fleet, Runner, Share, Stop, StopSignal, WarmupSpec};
use servemark_schedule::ArrivalSpec;

use crate::audience::News;
use crate::discover::Names;
use crate::draw::Load;
use crate::journal::Journal;
use crate::probes::{Probe, Probes};
use crate::profiler::Profilers;
use crate::server::{self, Server};
use crate::{ExecuteError, RunContext, Sent, greeting};

/// All that is on stage while requests are sent.
pub(crate) struct Stage<'a> {
    pub(crate) plan: &'a BenchPlan,
    pub(crate) context: &'a RunContext,
    pub(crate) server: &'a Server,
    pub(crate) names: &'a Names,
    pub(crate) load: &'a Load,
    /// What stops the run.
    pub(crate) stop: StopSignal,
}

/// What is known when the last answer is in.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// What it cost the client.
    pub(crate) cost: ClientCost,
    /// How many of its threads died.
    pub(crate) lost_shards: usize,
    /// When the load began.
    pub(crate) began: Stamp,
    /// When the last answer was in.
    pub(crate) ended: Stamp,
    /// What the server had counted before and after, if it says.
    pub(crate) counters: Option<CountedWork>,
    /// When connections ceased to be reused, if they did.
    pub(crate) reuse_ended: Option<Stamp>,
}

type Transport = Arc<HttpTransport<WireBackend>>;

impl Stage<'_> {
    /// Warm-up and measurement.
    pub(crate) async fn perform(
        &self,
        clock: MonotonicClock,
        journal: &Journal,
    ) -> Result<Measured, ExecuteError> {
        let transport = self.transport(clock).map_err(ExecuteError::Target)?;
        let pacer = SystemPacer::new(clock).map_err(ExecuteError::Machine)?;
        let stop = self.stop.clone();
        let runner = Runner::new(pacer, &self.plan.load, journal.observer(), stop);
        let profile = self.plan.control.profile.as_ref();
        let profilers = Profilers::reach(profile, self.context, self.server, clock)?;
        self.context.unless_stopped(self.greet(&transport, clock)).await?;
        self.context.unless_stopped(self.set(&runner, &transport, &profilers)).await?;
        let before = self.server.counters(self.plan).await;
        let probes = self.probe(journal, &transport, clock)?;
        let measured = self.measure(&runner, &transport, clock).await;
        let ended = clock.now();
        self.finish(probes);
        let counters = self.counted_since(before).await;
        profilers.stop().await;
        let runner::Measured { cost, lost, started: began, .. } =
            measured.map_err(ExecuteError::Machine)?;
        for share in &lost {
            self.context.tell(&News::ShardLost { shard: share.shard() });
        }
        let reuse_ended = transport.reuse_ended();
        if reuse_ended.is_some() {
            self.context.tell(&News::ReuseEnded);
        }
        Ok(Measured { cost, lost_shards: lost.len(), began, ended, counters, reuse_ended })
    }

    /// What is sent, for whoever asks afterwards.
    pub(crate) fn sent(&self) -> Sent {
        let (sessions, rules) = (Arc::clone(&self.load.sessions), self.plan.load.sessions.clone());
        Sent::new(sessions, self.wire().build(), rules)
    }

    /// Lets probes be sent from now on, if the plan wants any.
    fn probe(
        &self,
        journal: &Journal,
        transport: &Transport,
        clock: MonotonicClock,
    ) -> Result<Option<Probes>, ExecuteError> {
        let Some(rate) = self.plan.load.probes else { return Ok(None) };
        let transport = Arc::new(transport.for_shard());
        let (sample, observer) = (self.load.probe(), journal.observer());
        let probe = Probe { rate, sample, transport, observer };
        Probes::start(probe, clock).map(Some).map_err(ExecuteError::Machine)
    }

    /// The run can do without probes.
    fn finish(&self, probes: Option<Probes>) {
        let is_hurried = self.context.stop.signal().is(Stop::Now);
        if let Some(Err(error)) = probes.map(|probes| probes.finish(is_hurried)) {
            let reason = error.to_string();
            self.context.tell(&News::Missed { what: "send probes beside the load", reason });
        }
    }

    async fn counted_since(&self, before: Option<ServerCounters>) -> Option<CountedWork> {
        let before = before?;
        Some(CountedWork::new(before, self.server.counters(self.plan).await?))
    }

    fn transport(&self, clock: MonotonicClock) -> Result<Transport, ClientError> {
        let (target, backend) = (self.server.target.clone(), self.wire().build());
        let transport = HttpTransport::new(target, backend, clock);
        let precise = self.plan.load.precise_send;
        Ok(Arc::new(if precise { transport.with_precise_send()? } else { transport }))
    }

    /// The route for the model that is served. How long the prompt of a later turn is, only the
    /// server knows, so it is asked.
    fn wire(&self) -> BackendSpec {
        let wire = self.plan.wire.clone().with_model(self.names.served.clone());
        if self.load.converses() { wire.with_usage() } else { wire }
    }

    /// Sees that the server answers at all, if the plan wants that.
    async fn greet(
        &self,
        transport: &Transport,
        clock: MonotonicClock,
    ) -> Result<(), ExecuteError> {
        let Some(patience) = self.plan.control.greeting else { return Ok(()) };
        let first = &self.load.sessions[0].first;
        greeting::exchange(first, patience, transport, self.context, clock).await
    }

    /// Everything between the drawn load and the first measured request.
    async fn set(
        &self,
        runner: &Runner<SystemPacer>,
        transport: &Transport,
        profilers: &Profilers<'_>,
    ) -> Result<(), ExecuteError> {
        self.context.tell(&News::Prepared);
        self.try_first(runner, transport).await?;
        self.warm_up(runner, transport).await?;
        self.lead_in(runner, transport).await;
        self.flush_cache().await?;
        runner.wait(self.plan.control.settle).await;
        self.context.tell(&News::Starting);
        profilers.start().await;
        self.ahead().open(transport, Share::first_of(self.shards())).await;
        self.server.take_truth();
        Ok(())
    }

    /// Tries the first request until it is answered well.
    async fn try_first(
        &self,
        runner: &Runner<SystemPacer>,
        transport: &Transport,
    ) -> Result<(), ExecuteError> {
        let Some(patience) = self.plan.control.first_request else { return Ok(()) };
        self.context.tell(&News::TryingFirst { patience });
        let (sample, deadline) = (self.load.warm_up(self.plan), runner.now() + patience);
        loop {
            let outcome = runner.warm_up(transport, &sample, WarmupSpec::alike(1)).await.pop();
            let Some(Err(error)) = outcome else { break };
            let left = deadline.since(runner.now());
            if left.is_zero() || error.is_permanent {
                return Err(ExecuteError::FirstRequest(error));
            }
            self.context.tell(&News::NotReadyYet { error: &error });
            runner.wait(left.min(RETRY)).await;
        }
        self.context.tell(&News::FirstAnswered);
        Ok(())
    }

    async fn warm_up(
        &self,
        runner: &Runner<SystemPacer>,
        transport: &Transport,
    ) -> Result<(), ExecuteError> {
        let warmup = self.plan.load.warmup;
        if warmup.requests == 0 {
            return Ok(());
        }
        self.context.tell(&News::WarmingUp { requests: warmup.requests });
        let outcomes = match self.load.warm_up_sessions(self.plan) {
            Some(sessions) => runner.warm_up_with(transport, &sessions).await,
            None => runner.warm_up(transport, &self.load.warm_up(self.plan), warmup).await,
        };
        let requests = outcomes.len();
        let mut errors: Vec<RequestError> = outcomes.into_iter().filter_map(Result::err).collect();
        let failed = errors.len();
        match errors.pop() {
            Some(error) if failed == requests => Err(ExecuteError::Warmup(error)),
            _ => {
                self.context.tell(&News::WarmedUp { requests, failed });
                Ok(())
            }
        }
    }

    /// What is sent at its own times and ends before the measurement begins.
    async fn lead_in(&self, runner: &Runner<SystemPacer>, transport: &Transport) {
        let Some((sessions, schedule)) = &self.load.lead_in else { return };
        let requests = sessions.iter().map(Session::turns).sum();
        self.context.tell(&News::WarmingUp { requests });
        let outcomes = runner.lead_in(transport, sessions, schedule).await;
        let failed = outcomes.iter().filter(|outcome| outcome.is_err()).count();
        self.context.tell(&News::WarmedUp { requests, failed });
    }

    async fn flush_cache(&self) -> Result<(), ExecuteError> {
        let Some(timeout) = self.plan.control.flush_cache else { return Ok(()) };
        let route = self.plan.backend.flush_path(timeout);
        self.server.control.flush_cache(&route).await.map_err(ExecuteError::Flush)?;
        self.context.tell(&News::CacheFlushed);
        Ok(())
    }

    async fn measure(
        &self,
        lead: &Runner<SystemPacer>,
        transport: &Transport,
        clock: MonotonicClock,
    ) -> io::Result<runner::Measured> {
        let Load { sessions, schedule, .. } = self.load;
        if let ArrivalSpec::Trace { slowdown } = self.plan.load.arrivals {
            let (dataset, slowdown) = (&self.plan.workload.dataset, slowdown.factor());
            self.context.tell(&News::Replaying { dataset, sessions: sessions.len(), slowdown });
        }
        let (requests, shards) = (self.load.measured(&self.plan.load), self.shards());
        self.context.tell(&News::Measuring { requests, shards });
        self.context.live.measure(true);
        let fleet = Fleet::new(lead, shards);
        let enlist = self.enlist(transport, clock);
        let measured = fleet.measure(transport, sessions, schedule, enlist).await;
        self.context.live.measure(false);
        self.context.tell(&News::Measured);
        measured
    }

    /// How many threads send and read. The simulator has a core of its own, and so has the thread
    /// that watches the clock.
    pub(crate) fn shards(&self) -> NonZeroUsize {
        let cores = available_parallelism().unwrap_or(NonZeroUsize::MIN).get();
        let others = [self.server.is_simulated(), self.plan.load.precise_send];
        let cores = cores.saturating_sub(others.into_iter().map(usize::from).sum());
        let cores = NonZeroUsize::new(cores).unwrap_or(NonZeroUsize::MIN);
        self.plan.load.shards(self.load.sessions.len(), cores)
    }

    /// What gives every other shard its timer, and connections that are open.
    fn enlist(
        &self,
        transport: &Transport,
        clock: MonotonicClock,
    ) -> impl AsyncFn(Share) -> io::Result<(SystemPacer, Transport)> + Send + Sync + use<> {
        let (ahead, transport) = (self.ahead(), Arc::clone(transport));
        async move |share| {
            let own = Arc::new(transport.for_shard());
            ahead.open(&own, share).await;
            Ok((SystemPacer::new(clock)?, own))
        }
    }

    fn ahead(&self) -> Ahead {
        Ahead { connections: server::connections(self.plan), context: self.context.clone() }
    }
}

/// The connections that are open before they are used, if the plan says how many.
struct Ahead {
    connections: Option<usize>,
    context: RunContext,
}

impl Ahead {
    /// Opens a shard's part of them. The run can do without.
    async fn open(&self, transport: &Transport, share: Share) {
        let Some(connections) = self.connections else { return };
        if let Err(error) = transport.preconnect(share.of(connections)).await {
            let what = "open connections ahead of the measurement";
            self.context.tell(&News::Missed { what, reason: error.to_string() });
        }
    }
}

/// How long vLLM's client waits between two tries of the first request.
const RETRY: Duration = Duration::from_secs(5);
