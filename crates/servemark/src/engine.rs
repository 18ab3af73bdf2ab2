//! A plan for an engine without a server, run: the stages of any run, and the engine's load before
//! them.

use std::num::NonZeroUsize;
use std::sync::Arc;

use servemark_core::{
    ClientCost, Clock, EngineFacts, Footer, Header, MonotonicClock, RequestRecord, Session, Stamp,
    Tokenizer, unix_now,
};
use servemark_engine::{Engine, EngineControl, EngineRunSpec, EngineTransport, Waves};
use servemark_pacer::SystemPacer;
use servemark_plan::BenchPlan;
use servemark_runner::{self as runner, Fleet, LoadSpec, Runner, Stop};

use crate::audience::{News, Profiler, Switch};
use crate::discover::{self, Names};
use crate::draw::{self, Load};
use crate::drawing::drawing;
use crate::execute::on_this_thread;
use crate::journal::{Closing, Ended, Journal, Room};
use crate::{ExecuteError, Run, RunContext, afterwards, facts, files};

/// As [`execute`](crate::execute()), for a plan with an engine.
pub(crate) fn execute(
    plan: &BenchPlan,
    spec: &EngineRunSpec,
    context: &RunContext,
) -> Result<Run, ExecuteError> {
    on_this_thread(run(plan, spec, context))
}

async fn run(
    plan: &BenchPlan,
    spec: &EngineRunSpec,
    context: &RunContext,
) -> Result<Run, ExecuteError> {
    let presence = async { Ok(spec.check_presence().await?) };
    context.unless_stopped(presence).await?;
    let clock = MonotonicClock::start();
    let clock_started = u64::try_from(unix_now().as_nanos()).unwrap_or(u64::MAX);
    let drawn = drawn(plan, context, clock, clock_started).await?;
    let engine = context.unless_stopped(load_engine(spec, context, clock)).await?;
    let before = drawn.warm_up.iter().map(|(_, load)| load);
    check_lengths(engine.facts(), before.chain([&drawn.load]))?;
    let header = header(clock_started, plan, spec, &engine, &drawn).await;
    let (live, room) = (context.live.clone(), Room::of(plan));
    let journal = Journal::open(&plan.output, header, live, room, None)?;
    let stage = Stage { plan, context, engine: &engine, drawn: &drawn };
    let measured = stage.perform(&journal, clock).await?;
    let closing = journal.close();
    let mut footer = stage.footer(measured).await;
    if !plan.model.untokenized {
        footer.retokenized = afterwards::count(context, drawn.tokenizer.as_ref(), &closing);
    }
    stage.end_engine().await;
    ended(context, closing, footer)
}

/// What a run is made of before there is an engine.
struct Drawn {
    names: Names,
    tokenizer: Arc<dyn Tokenizer>,
    load: Load,
    warm_up: Option<(LoadSpec, Load)>,
}

async fn drawn(
    plan: &BenchPlan,
    context: &RunContext,
    clock: MonotonicClock,
    run: u64,
) -> Result<Drawn, ExecuteError> {
    let names = discover::of_engine(plan);
    let gathering = files::gather(plan, context, &names.tokenizer, clock);
    let files = context.unless_stopped(gathering).await?;
    let work = move |context: &RunContext| {
        let plan = &files.plan;
        let tokenizer: Arc<dyn Tokenizer> =
            discover::tokenizer(&files.tokenizer, &plan.workload.dataset)?.into();
        let draw = |plan: &BenchPlan| draw::load(plan, context, false, tokenizer.as_ref(), run);
        let load = draw(plan)?;
        let with_load = |plan: &BenchPlan| draw(plan).map(|load| (plan.load.clone(), load));
        let warm_up = plan.warm_up.as_deref().map(with_load).transpose()?;
        Ok(Drawn { names, tokenizer, load, warm_up })
    };
    drawing(context, work).await
}

/// A run whose engine was lost before anything was done is none.
fn ended(context: &RunContext, closing: Closing, footer: Footer) -> Result<Run, ExecuteError> {
    let lost = footer.engine_ended.clone();
    let nothing_is_done = !closing.records.iter().any(RequestRecord::is_success);
    let Ended { log, audit, path: run_log, error: run_log_error } = closing.finish(footer);
    match lost {
        Some(why) if nothing_is_done => return Err(ExecuteError::EngineLost { why }),
        Some(why) => context.tell(&News::EngineLost { why: &why }),
        None => {}
    }
    Ok(Run { log, audit, run_log, run_log_error, lost_shards: 0, sent: None })
}

async fn load_engine(
    spec: &EngineRunSpec,
    context: &RunContext,
    clock: MonotonicClock,
) -> Result<Engine, ExecuteError> {
    context.tell(&News::LoadingEngine { name: spec.engine.name() });
    let mut spec = spec.clone();
    spec.engine = files::of_engine(&spec.engine, context, clock).await?;
    let engine = Engine::start(&spec, clock).await?;
    context.tell(&News::EngineLoaded { facts: engine.facts() });
    Ok(engine)
}

/// Refuses what an engine would cut short, which then tells of more output than there is.
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

async fn header(
    clock_started: u64,
    plan: &BenchPlan,
    spec: &EngineRunSpec,
    engine: &Engine,
    Drawn { names, load, .. }: &Drawn,
) -> Header {
    let mut header = facts::engine_header(clock_started, plan, spec, engine.facts(), names, load);
    header.server_info = info(engine).await;
    header
}

/// What the engine says of itself. A run can do without.
async fn info(engine: &Engine) -> Option<serde_json::Value> {
    let info = engine.control(EngineControl::Info).await.ok();
    info.filter(|info| !info.is_null())
}

/// What is known when the last answer is in.
struct Measured {
    cost: ClientCost,
    began: Stamp,
    ended: Stamp,
}

/// All that is on stage while requests are made.
struct Stage<'a> {
    plan: &'a BenchPlan,
    context: &'a RunContext,
    engine: &'a Engine,
    drawn: &'a Drawn,
}

impl Stage<'_> {
    /// Warm-up and measurement.
    async fn perform(
        &self,
        journal: &Journal,
        clock: MonotonicClock,
    ) -> Result<Measured, ExecuteError> {
        let transport = self.transport();
        let before = self.warm_up(&transport, journal, clock);
        self.context.unless_stopped(before).await?;
        self.profile(Switch::Start).await;
        transport.expect(waves(&self.plan.load, &self.drawn.load));
        let measured = self.measure(&transport, journal, clock).await;
        self.profile(Switch::Stop).await;
        measured
    }

    /// The way to the engine, with our tokenizer where the run has one.
    fn transport(&self) -> Arc<EngineTransport> {
        let tokenizer = &self.drawn.tokenizer;
        let words = (!self.plan.model.untokenized).then(|| Arc::clone(tokenizer));
        Arc::new(EngineTransport::new(self.engine.clone(), words))
    }

    async fn warm_up(
        &self,
        transport: &Arc<EngineTransport>,
        journal: &Journal,
        clock: MonotonicClock,
    ) -> Result<(), ExecuteError> {
        let Some((spec, load)) = &self.drawn.warm_up else { return Ok(()) };
        let requests = load.requests();
        self.context.tell(&News::WarmingUp { requests });
        transport.expect(waves(spec, load));
        let runner = self.runner(spec, journal, clock)?;
        let outcomes = runner.warm_up_with(transport, &load.sessions).await;
        let failed = outcomes.iter().filter(|outcome| outcome.is_err()).count();
        match outcomes.into_iter().find_map(Result::err) {
            Some(error) if failed == requests => Err(ExecuteError::Warmup(error)),
            _ => {
                self.context.tell(&News::WarmedUp { requests, failed });
                runner.wait(self.plan.control.settle).await;
                Ok(())
            }
        }
    }

    async fn measure(
        &self,
        transport: &Arc<EngineTransport>,
        journal: &Journal,
        clock: MonotonicClock,
    ) -> Result<Measured, ExecuteError> {
        let (requests, shards) = (self.drawn.load.requests(), NonZeroUsize::MIN);
        self.context.tell(&News::Measuring { requests, shards });
        self.context.live.measure(true);
        let runner = self.runner(&self.plan.load, journal, clock)?;
        let shared = Arc::clone(transport);
        let enlist = async move |_share| Ok((SystemPacer::new(clock)?, Arc::clone(&shared)));
        let fleet = Fleet::new(&runner, shards);
        let Load { sessions, schedule, .. } = &self.drawn.load;
        let measuring = fleet.measure(transport, sessions, schedule, enlist);
        let measured = self.handing_over(transport, measuring).await;
        let ended = clock.now();
        self.context.live.measure(false);
        self.context.tell(&News::Measured);
        let runner::Measured { cost, started: began, .. } =
            measured.map_err(ExecuteError::Machine)?;
        Ok(Measured { cost, began, ended })
    }

    /// Where the run is stopped before a wave is whole, the engine is given what there is of it.
    async fn handing_over<T>(
        &self,
        transport: &EngineTransport,
        work: impl Future<Output = T>,
    ) -> T {
        let (stop, mut work) = (self.context.stop.signal(), std::pin::pin!(work));
        tokio::select! {
            biased;
            done = work.as_mut() => return done,
            () = stop.reached(Stop::Drain) => transport.hand_over(),
        }
        work.await
    }

    fn runner(
        &self,
        load: &LoadSpec,
        journal: &Journal,
        clock: MonotonicClock,
    ) -> Result<Runner<SystemPacer>, ExecuteError> {
        let pacer = SystemPacer::new(clock).map_err(ExecuteError::Machine)?;
        Ok(Runner::new(pacer, load, journal.observer(), self.context.stop.signal()))
    }

    /// Turns the engine's profiler on or off, if the plan wants it. The run can do without.
    async fn profile(&self, switch: Switch) {
        let Some(spec) = &self.plan.control.profile else { return };
        let control = match (switch, &spec.stop) {
            (Switch::Start, _) => EngineControl::StartProfile(spec.start.clone()),
            (Switch::Stop, Some(_)) => EngineControl::StopProfile,
            (Switch::Stop, None) => return,
        };
        self.context.tell(&News::Profiler(Profiler::Turning(switch)));
        match self.engine.control(control).await {
            Ok(_) => self.context.tell(&News::Profiler(Profiler::Turned(switch, None))),
            Err(error) => {
                let (what, reason) = ("turn the engine's profiler", error.to_string());
                self.context.tell(&News::Missed { what, reason });
            }
        }
    }

    /// What is known when the last answer is in.
    async fn footer(&self, measured: Measured) -> Footer {
        let mut footer = Footer::default();
        footer.began = Some(measured.began);
        footer.ended = measured.ended;
        footer.engine_ended = self.engine.ended();
        footer.interrupted =
            self.context.stop.signal().is(Stop::Drain) || footer.engine_ended.is_some();
        footer.client = Some(measured.cost);
        if footer.engine_ended.is_none() && !self.is_hurried() {
            footer.server_info = info(self.engine).await;
        }
        footer
    }

    /// Lets the engine end in its own way, until requests in flight are given up: an engine that is
    /// still at work then is killed when it is dropped.
    async fn end_engine(&self) {
        let stop = self.context.stop.signal();
        tokio::select! {
            biased;
            () = stop.reached(Stop::Now) => {}
            () = self.engine.shut_down() => {}
        }
    }

    fn is_hurried(&self) -> bool {
        self.context.stop.signal().is(Stop::Now)
    }
}

/// All together, or as many as may be in flight where those leave together.
fn waves(spec: &LoadSpec, load: &Load) -> Waves {
    let requests = load.requests();
    match spec.max_concurrency.filter(|_| spec.in_waves) {
        Some(size) => Waves { requests, size },
        None => Waves::whole(requests),
    }
}
