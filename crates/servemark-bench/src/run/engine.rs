//! Measures an offline engine: loads it, warms it up and hands requests to it.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;

use servemark_core::{EngineFacts, Footer, Header, RequestRecord, RunLog, Session};
use servemark_engine::{Engine, EngineControl, EngineRunSpec, EngineTransport, Waves};
use servemark_pacer::SystemPacer;
use servemark_plan::{BenchPlan, ServerSpec};
use servemark_runner::{LoadSpec, Runner, Share, Stop};

use super::draw::Load;
use super::prepare::{Numbering, PreparedRun, RunClock, prepare};
use super::run_log_sink::RunLogSink;
use super::system::{Job, System};
use super::{discover, facts, files, warm_up};
use crate::observer::{Profiler, RunEvent, Switch};
use crate::runtime::on_this_thread;
use crate::{ExecuteError, RunContext};

/// An engine in a worker process or in this program, loaded for one run.
pub(super) struct LoadedEngine {
    spec: EngineRunSpec,
    engine: Engine,
    /// Load of the warm-up plan, if there is one.
    warm_up: Option<(LoadSpec, Load)>,
}

/// Returns an error if the engine cannot be loaded. A run makes this check before any
/// preparation.
pub fn check_presence(spec: &EngineRunSpec, context: &RunContext) -> Result<(), ExecuteError> {
    on_this_thread(presence(spec, context))
}

async fn presence(spec: &EngineRunSpec, context: &RunContext) -> Result<(), ExecuteError> {
    context.unless_stopped(async { Ok(spec.check_presence().await?) }).await
}

impl System for LoadedEngine {
    type Transport = EngineTransport;
    type Helpers<'a> = ();

    async fn prepare(
        plan: &BenchPlan,
        context: &RunContext,
        clock: RunClock,
    ) -> Result<(Self, PreparedRun), ExecuteError> {
        let ServerSpec::Engine(spec) = &plan.server else {
            unreachable!("only a plan with an engine is measured here")
        };
        presence(spec, context).await?;
        let names = discover::of_plan(plan);
        let warm_up = plan.warm_up.as_deref();
        let (prepared, warm_up) =
            prepare(plan, warm_up, context, names, Numbering::Plain, clock).await?;
        let engine = context.unless_stopped(load_engine(spec, context, clock)).await?;
        let before = warm_up.iter().map(|(_, load)| load);
        check_lengths(engine.facts(), before.chain([&prepared.load]))?;
        Ok((Self { spec: spec.clone(), engine, warm_up }, prepared))
    }

    async fn header(&self, job: &Job<'_>) -> Result<Header, ExecuteError> {
        let PreparedRun { names, load, .. } = job.prepared;
        let (started, facts) = (job.clock.started_unix_ns, self.engine.facts());
        let mut header = facts::engine_header(started, job.plan, &self.spec, facts, names, load);
        header.server_info = self.info().await;
        Ok(header)
    }

    /// Creates the transport with the run's tokenizer, if it has one.
    fn transport(&self, job: &Job<'_>) -> Result<Arc<EngineTransport>, ExecuteError> {
        let tokenizer = &job.prepared.tokenizer;
        let tokenizer = (!job.plan.model.untokenized).then(|| Arc::clone(tokenizer));
        Ok(Arc::new(EngineTransport::new(self.engine.clone(), tokenizer)))
    }

    fn shards(&self, _job: &Job<'_>) -> NonZeroUsize {
        NonZeroUsize::MIN
    }

    fn shard_factory(
        &self,
        job: &Job<'_>,
        transport: &Arc<EngineTransport>,
    ) -> impl AsyncFn(Share) -> io::Result<(SystemPacer, Arc<EngineTransport>)> + Send + Sync + 'static
    {
        let (clock, transport) = (job.clock.clock, Arc::clone(transport));
        async move |_share| Ok((SystemPacer::new(clock)?, Arc::clone(&transport)))
    }

    async fn begin(
        &self,
        job: &Job<'_>,
        _runner: &Runner,
        transport: &Arc<EngineTransport>,
        sink: &RunLogSink,
    ) -> Result<(), ExecuteError> {
        job.context.unless_stopped(self.warm_up(job, transport, sink)).await?;
        self.profile(job, Switch::Start).await;
        transport.expect(waves(&job.plan.load, job.load()));
        Ok(())
    }

    /// Awaits the measurement. If the run is stopped before a wave is complete, the requests of
    /// the wave so far are handed to the engine.
    async fn run_beside<T>(
        &self,
        job: &Job<'_>,
        transport: &EngineTransport,
        measuring: impl Future<Output = T>,
    ) -> T {
        let (stop, mut measuring) = (job.context.stop.signal(), std::pin::pin!(measuring));
        tokio::select! {
            biased;
            done = measuring.as_mut() => return done,
            () = stop.reached(Stop::Drain) => transport.hand_over(),
        }
        measuring.await
    }

    async fn end(
        &self,
        job: &Job<'_>,
        (): Self::Helpers<'_>,
        _transport: &EngineTransport,
    ) -> Footer {
        self.profile(job, Switch::Stop).await;
        let mut footer = Footer::default();
        footer.engine_ended = self.engine.end_reason();
        footer.interrupted = footer.engine_ended.is_some();
        if footer.engine_ended.is_none() && !job.context.stop.signal().is(Stop::Now) {
            footer.server_info = self.info().await;
        }
        footer
    }

    /// Shuts the engine down in order until requests in flight are aborted. An engine that is
    /// still working then is killed when it is dropped.
    async fn shut_down(&self, job: &Job<'_>) {
        let stop = job.context.stop.signal();
        tokio::select! {
            biased;
            () = stop.reached(Stop::Now) => {}
            () = self.engine.shut_down() => {}
        }
    }

    fn check(&self, job: &Job<'_>, log: &RunLog) -> Result<(), ExecuteError> {
        let lost = log.footer().and_then(|footer| footer.engine_ended.clone());
        let nothing_is_done = !log.records().iter().any(RequestRecord::is_success);
        match lost {
            Some(why) if nothing_is_done => return Err(ExecuteError::EngineLost { why }),
            Some(why) => job.context.emit(&RunEvent::EngineLost { why: &why }),
            None => {}
        }
        Ok(())
    }
}

impl LoadedEngine {
    /// Returns the engine's information; `None` if it is not available, which the run tolerates.
    async fn info(&self) -> Option<serde_json::Value> {
        let info = self.engine.control(EngineControl::Info).await.ok();
        info.filter(|info| !info.is_null())
    }

    /// Runs the warm-up plan, if there is one.
    async fn warm_up(
        &self,
        job: &Job<'_>,
        transport: &Arc<EngineTransport>,
        sink: &RunLogSink,
    ) -> Result<(), ExecuteError> {
        let Some((spec, load)) = &self.warm_up else { return Ok(()) };
        job.context.emit(&RunEvent::WarmingUp { requests: load.requests() });
        transport.expect(waves(spec, load));
        let runner = job.runner(spec, sink)?;
        warm_up::warmed_up(job, runner.warm_up_with(transport, &load.sessions).await)?;
        runner.wait(job.plan.control.settle).await;
        Ok(())
    }

    /// Turns the engine's profiler on or off if the plan asks for it. A failure is reported and
    /// does not end the run.
    async fn profile(&self, job: &Job<'_>, switch: Switch) {
        let Some(spec) = &job.plan.control.profile else { return };
        let control = match (switch, &spec.stop) {
            (Switch::Start, _) => EngineControl::StartProfile(spec.start.clone()),
            (Switch::Stop, Some(_)) => EngineControl::StopProfile,
            (Switch::Stop, None) => return,
        };
        job.context.emit(&RunEvent::Profiler(Profiler::Turning(switch)));
        match self.engine.control(control).await {
            Ok(_) => job.context.emit(&RunEvent::Profiler(Profiler::Turned(switch, None))),
            Err(error) => {
                let (what, reason) = ("turn the engine's profiler", error.to_string());
                job.context.emit(&RunEvent::Missed { what, reason });
            }
        }
    }
}

async fn load_engine(
    spec: &EngineRunSpec,
    context: &RunContext,
    clock: RunClock,
) -> Result<Engine, ExecuteError> {
    context.emit(&RunEvent::LoadingEngine { name: spec.engine.name() });
    let mut spec = spec.clone();
    spec.engine = files::of_engine(&spec.engine, context, clock.clock).await?;
    let engine = Engine::start(&spec, clock.clock).await?;
    context.emit(&RunEvent::EngineLoaded { facts: engine.facts() });
    Ok(engine)
}

/// Refuses a request that is longer than the engine's context: the engine would cut its output
/// and the counts would be wrong.
fn check_lengths<'a>(
    engine: &EngineFacts,
    loads: impl Iterator<Item = &'a Load>,
) -> Result<(), ExecuteError> {
    let Some(most) = engine.context_tokens else { return Ok(()) };
    let samples = loads.flat_map(|load| load.sessions.iter().flat_map(Session::samples));
    let lengths =
        samples.map(|sample| u64::from(sample.prompt_tokens) + u64::from(sample.output_tokens));
    match lengths.max().filter(|tokens| *tokens > u64::from(most)) {
        Some(tokens) => Err(ExecuteError::TooLong { tokens, most }),
        None => Ok(()),
    }
}

/// Returns the waves of a load: one wave of all requests, or waves of `max_concurrency` requests
/// if the load is sent in waves.
fn waves(spec: &LoadSpec, load: &Load) -> Waves {
    let requests = load.requests();
    match spec.max_concurrency.filter(|_| spec.in_waves) {
        Some(size) => Waves { requests, size },
        None => Waves::whole(requests),
    }
}
