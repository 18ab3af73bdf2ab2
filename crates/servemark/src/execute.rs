//! A plan, run: each stage of it in its order.

use std::path::PathBuf;

use servemark_core::{MonotonicClock, RunLog, RunLogError, Session, Tokenizer, unix_now};
use servemark_metrics::Audit;
use servemark_plan::BenchPlan;
#[cfg(feature = "engine")]
use servemark_plan::ServerSpec;

use crate::audience::News;
use crate::capacity::{Demand, Means};
use crate::discover::{self, Names};
use crate::draw::Load;
use crate::drawing::drawing;
use crate::journal::{Ended, Journal, Room};
use crate::server::Server;
use crate::stage::Stage;
use crate::until::{RunStop, Watcher};
use crate::{ExecuteError, Outputs, RunContext, Sent, afterwards, align, draw, facts, files};

/// A run that came to its end, by itself or because it was stopped.
#[derive(Debug)]
#[non_exhaustive]
pub struct Run {
    /// All that was seen. Where more than 64 MiB of text came back, the rest of it is in the run
    /// log's file only, unless the plan prints or keeps texts.
    pub log: RunLog,
    /// What the client did to it, as the log says, too.
    pub audit: Audit,
    /// Where it is on disk, if it was to be there.
    pub run_log: Option<PathBuf>,
    /// What kept the file from being whole. The log in memory is.
    pub run_log_error: Option<RunLogError>,
    /// How many of the threads that send and read died. The log lacks what was theirs, and says
    /// that the run was interrupted.
    pub lost_shards: usize,
    /// What was sent, of a run over HTTP that is not known by its log alone.
    pub sent: Option<Sent>,
}

impl Run {
    /// A run that is known by its log alone.
    pub fn of_log(log: RunLog) -> Self {
        let audit = Audit::of(&log);
        Self { log, audit, run_log: None, run_log_error: None, lost_shards: 0, sent: None }
    }

    /// A run that was over before, by the log that it left.
    pub(crate) fn of_file(log: RunLog, path: PathBuf) -> Self {
        Self { run_log: Some(path), ..Self::of_log(log) }
    }
}

/// Runs a plan, from waiting for the server to the closed run log, on a runtime of its own on the
/// calling thread. An engine without a server is loaded for its warm-up, too; that of a server is a
/// run of its own.
pub fn execute(plan: &BenchPlan, context: &RunContext) -> Result<Run, ExecuteError> {
    plan.check()?;
    Outputs::of(plan).check()?;
    #[cfg(feature = "engine")]
    if let ServerSpec::Engine(spec) = &plan.server {
        return crate::engine::execute(plan, spec, context);
    }
    on_this_thread(run(plan, context))
}

/// Does some work on a runtime of its own.
pub(crate) fn on_this_thread<T>(
    work: impl Future<Output = Result<T, ExecuteError>>,
) -> Result<T, ExecuteError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(ExecuteError::Machine)?.block_on(work)
}

async fn run(plan: &BenchPlan, context: &RunContext) -> Result<Run, ExecuteError> {
    let clock = MonotonicClock::start();
    let clock_started = u64::try_from(unix_now().as_nanos()).unwrap_or(u64::MAX);
    let (server, names, tokenizer, load) = drawn(plan, context, clock, clock_started).await?;
    let aligning = align::align(plan, context, &server, &names, load, clock);
    let load = context.unless_stopped(async { Ok(aligning.await) }).await?;
    let tokenizer = tokenizer.as_ref();
    let drawn = Drawn { server: &server, names: &names, tokenizer, load: &load };
    measure(plan, context, &drawn, clock, clock_started).await
}

/// Everything from the drawn load to the closed run log.
pub(crate) async fn measure(
    plan: &BenchPlan,
    context: &RunContext,
    drawn: &Drawn<'_>,
    clock: MonotonicClock,
    clock_started: u64,
) -> Result<Run, ExecuteError> {
    let &Drawn { server, names, tokenizer, load } = drawn;
    let mut header = facts::header(clock_started, plan, server, names, load);
    header.credentials = context.credentials.names();
    let before = async { Ok(server.before(plan, context).await) };
    header.server_info = context.unless_stopped(before).await?;
    let (live, room) = (context.live.clone(), Room::of(plan));
    let stop = RunStop::of(plan, context);
    let watcher = Watcher::of(plan, load, &header.facts, &stop);
    let journal = Journal::open(&plan.output, header, live, room, watcher)?;
    let stage = Stage { plan, context, server, names, load, stop: stop.signal() };
    warn(&stage);
    let measured = stage.perform(clock, &journal).await?;
    let (closing, lost_shards) = (journal.close(), measured.lost_shards);
    if let Some(stop) = closing.early_stop {
        context.tell(&News::KnownEnough { stop });
    }
    let mut footer = afterwards::ask(plan, context, server, load, measured).await;
    footer.early_stop = closing.early_stop;
    if !plan.model.untokenized {
        footer.retokenized = afterwards::count(context, tokenizer, &closing);
    }
    let Ended { log, audit, path: run_log, error: run_log_error } = closing.finish(footer);
    let sent = Some(stage.sent());
    Ok(Run { log, audit, run_log, run_log_error, lost_shards, sent })
}

/// What a run is made of before anything is measured.
pub(crate) struct Drawn<'a> {
    pub(crate) server: &'a Server,
    pub(crate) names: &'a Names,
    pub(crate) tokenizer: &'a dyn Tokenizer,
    pub(crate) load: &'a Load,
}

async fn drawn(
    plan: &BenchPlan,
    context: &RunContext,
    clock: MonotonicClock,
    run: u64,
) -> Result<(Server, Names, Box<dyn Tokenizer>, Load), ExecuteError> {
    let server = Server::reach(plan, context, clock)?;
    let names = context.unless_stopped(meet(plan, context, &server)).await?;
    let gathering = files::gather(plan, context, &names.tokenizer, clock);
    let files = context.unless_stopped(gathering).await?;
    let is_simulated = server.is_simulated();
    let work = move |context: &RunContext| {
        let tokenizer = discover::tokenizer(&files.tokenizer, &files.plan.workload.dataset)?;
        let load = draw::load(&files.plan, context, is_simulated, tokenizer.as_ref(), run)?;
        Ok((tokenizer, load))
    };
    let (tokenizer, load) = drawing(context, work).await?;
    Ok((server, names, tokenizer, load))
}

/// How much a plan would send.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct DryRun {
    /// How many requests.
    pub requests: usize,
    /// Tokens of their prompts; of a later turn's, without what was said before.
    pub input_tokens: u64,
    /// Tokens that they ask for.
    pub output_tokens: u64,
}

/// Draws what a plan would send, and sends nothing of it. The server is asked for its model where
/// the plan names none.
pub fn dry_run(plan: &BenchPlan, context: &RunContext) -> Result<DryRun, ExecuteError> {
    plan.check()?;
    let (.., load) = on_this_thread(drawn(plan, context, MonotonicClock::start(), 0))?;
    let samples = || load.sessions.iter().flat_map(Session::samples);
    Ok(DryRun {
        requests: samples().count(),
        input_tokens: samples().map(|sample| u64::from(sample.prompt_tokens)).sum(),
        output_tokens: samples().map(|sample| u64::from(sample.output_tokens)).sum(),
    })
}

/// Tells of a plan that is too much for this machine to be measured well.
fn warn(stage: &Stage<'_>) {
    let Stage { plan, context, load, .. } = stage;
    if let Some(warning) = Means::of(context, stage.shards()).warning(&Demand::of(plan, load)) {
        context.tell(&News::Strained { warning: &warning });
    }
}

/// Waits for the server and asks it what the plan does not say.
async fn meet(
    plan: &BenchPlan,
    context: &RunContext,
    server: &Server,
) -> Result<Names, ExecuteError> {
    let patience = plan.control.ready_timeout;
    if !patience.is_zero() {
        context.tell(&News::WaitingForServer { url: &server.url(), patience });
        let after = server.control.wait_ready(plan.backend.ready_path(), patience).await;
        context.tell(&News::ServerReady { after: after.map_err(ExecuteError::NotReady)? });
    }
    discover::names(plan, context, server).await
}
