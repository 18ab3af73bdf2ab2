//! Measures a server over HTTP: an existing one, or the simulator.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;

use servemark_backends::{ServerKind, WireBackend};
use servemark_client::{ClientError, HttpTransport};
use servemark_core::{CountedWork, Footer, Header, ServerCounters};
use servemark_pacer::SystemPacer;
use servemark_plan::BenchPlan;
use servemark_runner::{Runner, Share, Stop};
use servemark_schedule::ArrivalSpec;
use servemark_telemetry::Sampler;

use super::capacity::{MachineCapacity, PlannedLoad};
use super::prepare::{Numbering, PreparedRun, RunClock, prepare};
use super::probes::{Probe, Probes};
use super::profiler::Profilers;
use super::ranked::ranks_of;
use super::run_log_sink::RunLogSink;
use super::server::{self, Server, WireTransport};
use super::system::{Job, System};
use super::{SentRequests, align, cache_audit, discover, facts, telemetry, warm_up};
use crate::observer::RunEvent;
use crate::{ExecuteError, RunContext};

/// Helpers that work while a server is measured.
pub(crate) struct Helpers<'a> {
    profilers: Profilers<'a>,
    /// The server's counters before the measurement, if it has any.
    before: Option<ServerCounters>,
    probes: Option<Probes>,
    sampler: Option<Sampler>,
}

impl System for Server {
    type Transport = WireTransport;
    type Helpers<'a> = Helpers<'a>;

    async fn prepare(
        plan: &BenchPlan,
        context: &RunContext,
        clock: RunClock,
    ) -> Result<(Self, PreparedRun), ExecuteError> {
        let (server, mut prepared) = connect_and_draw(plan, context, clock).await?;
        let PreparedRun { names, load, .. } = prepared;
        let aligning = align::align(plan, context, &server, &names, load, clock.clock);
        let load = context.unless_stopped(async { Ok(aligning.await) }).await?;
        prepared = PreparedRun { names, load, ..prepared };
        Ok((server, prepared))
    }

    async fn header(&self, job: &Job<'_>) -> Result<Header, ExecuteError> {
        let Job { plan, context, prepared, .. } = job;
        let started = job.clock.started_unix_ns;
        let mut header = facts::header(started, plan, self, &prepared.names, &prepared.load);
        header.credentials = context.credentials.names();
        let before = async { Ok(self.before(plan, context).await) };
        header.server_info = context.unless_stopped(before).await?;
        Ok(header)
    }

    fn transport(&self, job: &Job<'_>) -> Result<Arc<WireTransport>, ExecuteError> {
        let (target, backend) = (self.target.clone(), wire(job)?);
        let transport = HttpTransport::new(target, backend, job.clock.clock);
        if !job.plan.load.precise_send {
            return Ok(Arc::new(transport));
        }
        transport.with_precise_send().map(Arc::new).map_err(ExecuteError::Target)
    }

    /// Returns the number of client threads. The simulator and the precise sender each use a core
    /// of their own.
    fn shards(&self, job: &Job<'_>) -> NonZeroUsize {
        let cores = available_parallelism().unwrap_or(NonZeroUsize::MIN).get();
        let others = [self.is_simulated(), job.plan.load.precise_send];
        let cores = cores.saturating_sub(others.into_iter().map(usize::from).sum());
        let cores = NonZeroUsize::new(cores).unwrap_or(NonZeroUsize::MIN);
        job.plan.load.shards_of(job.share(), job.load().sessions.len(), cores)
    }

    fn shard_factory(
        &self,
        job: &Job<'_>,
        transport: &Arc<WireTransport>,
    ) -> impl AsyncFn(Share) -> io::Result<(SystemPacer, Arc<WireTransport>)> + Send + Sync + 'static
    {
        let (ahead, transport, clock) =
            (EarlyConnections::of(job), Arc::clone(transport), job.clock.clock);
        async move |share| {
            let own = Arc::new(transport.for_shard());
            ahead.open(&own, share).await;
            Ok((SystemPacer::new(clock)?, own))
        }
    }

    async fn begin<'a>(
        &self,
        job: &Job<'a>,
        runner: &Runner,
        transport: &Arc<WireTransport>,
        sink: &RunLogSink,
    ) -> Result<Helpers<'a>, ExecuteError> {
        warn(job, self.shards(job));
        let mut sampler = telemetry::start(job, &self.target, sink);
        let profile = job.plan.control.profile.as_ref();
        let profilers = Profilers::reach(profile, job.context, self, job.clock.clock)?;
        let ready = async {
            warm_up::warm_up(self, job, runner, transport).await?;
            job.context.emit(&RunEvent::Starting);
            profilers.start().await;
            let first = job.share().first_among(self.shards(job));
            EarlyConnections::of(job).open(transport, first).await;
            Ok(())
        };
        job.context.unless_stopped(ready).await?;
        // The simulator's times of the warm-up do not belong to the measurement.
        self.take_truth();
        let before = self.counters(job.plan).await;
        if let Some(sampler) = &mut sampler {
            sampler.ask_now().await;
        }
        let probes = probe(job, sink, transport)?;
        if let ArrivalSpec::Trace { slowdown } = job.plan.load.arrivals {
            let (dataset, sessions) = (&job.plan.workload.dataset, job.load().sessions.len());
            let slowdown = slowdown.factor();
            job.context.emit(&RunEvent::Replaying { dataset, sessions, slowdown });
        }
        Ok(Helpers { profilers, before, probes, sampler })
    }

    async fn end(
        &self,
        job: &Job<'_>,
        helpers: Self::Helpers<'_>,
        transport: &WireTransport,
    ) -> Footer {
        let Helpers { profilers, before, probes, sampler } = helpers;
        finish_probes(job, probes);
        let mut footer = Footer::default();
        let counted = async {
            let after = self.counters(job.plan).await;
            before.zip(after).map(|(before, after)| CountedWork::new(before, after))
        };
        // SGLang's client reads the counters last.
        let (has_info, mut counted) = (job.plan.server_kind().has_info(), Some(counted));
        if let Some(counted) = counted.take_if(|_| !has_info) {
            footer.server_counters = counted.await;
        }
        telemetry::finish(job, sampler);
        profilers.stop().await;
        footer.reuse_ended = transport.reuse_ended();
        if footer.reuse_ended.is_some() {
            job.context.emit(&RunEvent::ReuseEnded);
        }
        footer.truth = job.load().by_turn(self.take_truth());
        let info = self.info(job.plan, job.context).await;
        footer.server_info = info.as_ref().map(|info| info.value().clone());
        let accept_length = info.and_then(|info| info.accept_length());
        footer.accept_length = accept_length.filter(|_| has_info);
        if let Some(counted) = counted {
            footer.server_counters = counted.await;
        }
        footer
    }

    async fn audit_cache(
        &self,
        job: &Job<'_>,
        transport: &Arc<WireTransport>,
        sink: &RunLogSink,
        in_flight: NonZeroUsize,
    ) -> Result<Vec<usize>, ExecuteError> {
        cache_audit::audit(job, transport, sink, in_flight).await
    }

    fn sent_requests(&self, job: &Job<'_>) -> Option<SentRequests> {
        let rules = job.plan.load.sessions.clone();
        Some(SentRequests::new(Arc::clone(&job.load().sessions), wire(job).ok()?, rules))
    }
}

/// Reaches the server of a plan and draws the load.
pub(crate) async fn connect_and_draw(
    plan: &BenchPlan,
    context: &RunContext,
    clock: RunClock,
) -> Result<(Server, PreparedRun), ExecuteError> {
    let server = Server::reach(plan, context, clock.clock)?;
    let names = context.unless_stopped(meet(plan, context, &server)).await?;
    let numbering = if server.is_simulated() { Numbering::Numbered } else { Numbering::Plain };
    let (prepared, _) = prepare(plan, None, context, names, numbering, clock).await?;
    Ok((server, prepared))
}

/// Waits for the server and asks it for the names that the plan does not set.
async fn meet(
    plan: &BenchPlan,
    context: &RunContext,
    server: &Server,
) -> Result<discover::Names, ExecuteError> {
    let patience = plan.control.ready_timeout;
    if !patience.is_zero() {
        context.emit(&RunEvent::WaitingForServer { url: &server.url(), patience });
        let mut reported = None;
        let on_failure = |error: &ClientError| {
            let message = Some(error.to_string());
            if reported != message {
                context.emit(&RunEvent::ServerNotReady { error });
                reported = message;
            }
        };
        let route = plan.server_kind().ready_path();
        let after = server.control.wait_ready_reporting(route, patience, on_failure).await;
        context.emit(&RunEvent::ServerReady { after: after.map_err(ExecuteError::NotReady)? });
    }
    discover::names(plan, context, server).await
}

/// Builds the wire dialect with the served model's name. In conversations, it asks for the
/// server's token usage, because only the server knows the prompt length of a later turn.
fn wire(job: &Job<'_>) -> Result<WireBackend, ExecuteError> {
    let wire = job.plan.wire.clone().with_model(job.prepared.names.served.clone());
    let wire = if job.load().converses() { wire.with_usage() } else { wire };
    let asks_times = job.plan.control.server_times;
    let is_sglang = job.plan.server_kind() == ServerKind::Sglang;
    let wire = if asks_times { wire.with_server_times(is_sglang) } else { wire };
    job.context.parts.backend(&wire)
}

/// Warns if the plan needs too much of this machine's capacity for an accurate measurement.
fn warn(job: &Job<'_>, shards: NonZeroUsize) {
    let planned = PlannedLoad::of(job.plan, job.load()).of_one_rank(ranks_of(job.context));
    if let Some(warning) = MachineCapacity::of(job.context, shards).warning(&planned) {
        job.context.emit(&RunEvent::Strained { warning: &warning });
    }
}

/// Starts the probes, if the plan asks for them.
fn probe(
    job: &Job<'_>,
    sink: &RunLogSink,
    transport: &Arc<WireTransport>,
) -> Result<Option<Probes>, ExecuteError> {
    let Some(rate) = job.plan.load.probes else { return Ok(None) };
    let transport = Arc::new(transport.for_shard());
    let (sample, observer) = (job.load().probe(), sink.observer());
    let probe = Probe { rate, sample, transport, observer };
    Probes::start(probe, job.clock.clock).map(Some).map_err(ExecuteError::Machine)
}

/// Stops the probes. A failure is reported and does not end the run.
fn finish_probes(job: &Job<'_>, probes: Option<Probes>) {
    let is_now = job.context.stop.signal().is(Stop::Now);
    let end = if is_now { Probes::abort } else { Probes::finish };
    if let Some(Err(error)) = probes.map(end) {
        let reason = error.to_string();
        job.context.emit(&RunEvent::Missed { what: "send probes beside the load", reason });
    }
}

/// Connections to open in advance, if the plan determines their number.
struct EarlyConnections {
    connections: Option<usize>,
    context: RunContext,
}

impl EarlyConnections {
    fn of(job: &Job<'_>) -> Self {
        Self { connections: server::connections(job.plan), context: job.context.clone() }
    }

    /// Opens a shard's share of the connections. A failure is reported and does not end the run.
    async fn open(&self, transport: &WireTransport, share: Share) {
        let Some(connections) = self.connections else { return };
        if let Err(error) = transport.preconnect(share.of(connections)).await {
            let what = "open connections ahead of the measurement";
            self.context.emit(&RunEvent::Missed { what, reason: error.to_string() });
        }
    }
}
