//! A run that this process shares with others: it draws the whole load and sends its part of it.

use std::fmt::Write as _;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ring::digest::{Context, SHA256};
use serde::Serialize;
use servemark_core::{
    Header, LazyText, Prompt, RankFacts, RankMachine, Sample, Session, with_causes,
};
use servemark_plan::{BenchPlan, OutputSpec, ServerSpec};
use servemark_runner::{
    Share, SharedPlaces, StartBarrier, StartFuture, Stop, StopSignal, WarmupSpec,
};
use servemark_schedule::Schedule;

use super::draw::Load;
use super::drawing::drawing;
use super::execute::run_alone;
use super::outcome::Run;
use super::prepare::RunClock;
use super::run_log_sink::StartSender;
use crate::ranks::{LoadDigest, RankError, RankGroup, RankPlace, RankRun};
use crate::{ExecuteError, ExitCode, RunContext};

/// This process's part in a run.
#[derive(Debug)]
pub(crate) struct RankedRun {
    group: Arc<dyn RankGroup>,
    place: RankPlace,
    /// Name of the run.
    name: String,
    /// Plan of the whole run.
    plan: BenchPlan,
    /// Places of the concurrency limit that the processes hand to each other, if they do.
    places: Option<Arc<SharedPlaces>>,
}

/// Executes a plan together with the other processes of a group.
pub(super) async fn run(
    plan: &BenchPlan,
    context: &RunContext,
    group: &Arc<dyn RankGroup>,
) -> Result<Run, ExecuteError> {
    let (clock, place) = (RunClock::start(), group.place());
    check(plan, &place, group.shares_places())?;
    let places = plan.load.max_concurrency.filter(|_| group.shares_places());
    let places = places.map(|limit| Arc::new(SharedPlaces::of(place.share(), limit)));
    let begun = group.begin(RankRun {
        plan: plan.clone(),
        clock: clock.clock,
        live: Arc::clone(&context.live),
        stop: context.stop.clone(),
        places: places.clone(),
    });
    let begun = begun.await;
    let ranked = RankedRun {
        group: Arc::clone(group),
        name: begun.map_err(|error| ranks_failed(error, context))?,
        plan: plan.clone(),
        place,
        places,
    };
    let own = own_plan(plan, &ranked.place);
    match run_alone(&own, context, clock, Some(&ranked)).await {
        Ok(run) => group.gather(run).await.map_err(|error| ranks_failed(error, context)),
        Err(error) => {
            // Whatever the others answer, this error is the one to report.
            let _ = group.abandon(with_causes(&error)).await;
            Err(error)
        }
    }
}

/// Refuses plans that several processes cannot share.
fn check(plan: &BenchPlan, place: &RankPlace, shares_places: bool) -> Result<(), ExecuteError> {
    let refuse = |message: String| Err(RankError::new(message, ExitCode::Usage).into());
    let ranks = place.ranks;
    match &plan.server {
        ServerSpec::Simulated(_) => {
            return refuse(
                "several ranks need one server, and a simulator belongs to its process: start \
                 `servemark mock-server` and give its URL"
                    .to_owned(),
            );
        }
        #[cfg(feature = "engine")]
        ServerSpec::Engine(_) => {
            return refuse(
                "several ranks need one server, and an engine without a server belongs to its \
                 process"
                    .to_owned(),
            );
        }
        _ => {}
    }
    if plan.load.in_waves {
        return refuse(
            "requests that are sent in waves wait for the whole wave before, which several ranks \
             do not see: use one rank"
                .to_owned(),
        );
    }
    if shares_places && plan.load.opening.is_some() {
        return refuse(
            "places that open one after the other are dealt out to the ranks in advance: do \
             not share places"
                .to_owned(),
        );
    }
    if plan.scoring.until.is_some() && ranks.get() > 1 {
        return refuse(
            "`scoring.until` ends a run by the requests that one process has seen, and each of \
             several ranks sees its own only: set the number of requests, or use one rank"
                .to_owned(),
        );
    }
    match plan.load.max_concurrency {
        Some(limit) if limit < ranks => refuse(format!(
            "a concurrency limit of {limit} leaves some of {ranks} ranks without a place: use at \
             most {limit} ranks"
        )),
        _ => Ok(()),
    }
}

/// Returns the plan that this process executes. Only rank 0 asks and warms up the server, reads
/// its metrics and writes results; each rank has a run log of its own.
fn own_plan(plan: &BenchPlan, place: &RankPlace) -> BenchPlan {
    let mut own = plan.clone();
    own.output.run_log = plan.output.run_log.as_deref().map(|path| rank_log(path, place.rank));
    if place.leads() {
        return own;
    }
    own.output = OutputSpec {
        run_log: own.output.run_log,
        run_log_if_taken: own.output.run_log_if_taken,
        // Rank 0 needs the texts of the other ranks for the same purposes as its own.
        details: plan.output.details,
        keeps_texts: plan.output.keeps_texts,
        ..OutputSpec::default()
    };
    own.load.warmup = WarmupSpec { requests: 0, ..plan.load.warmup };
    own.load.probes = None;
    let control = &mut own.control;
    control.greeting = None;
    control.first_request = None;
    control.flush_cache = None;
    control.settle = Duration::ZERO;
    control.profile = None;
    control.counters = false;
    control.telemetry = None;
    control.cache_audit = None;
    own
}

/// Returns the path of a rank's log beside that of the whole run: `run.rank2.runlog.jsonl` beside
/// `run.runlog.jsonl`.
pub fn rank_log(path: &Path, rank: usize) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(LOG_ENDING);
    let name = match (stem, name.rsplit_once('.')) {
        (Some(stem), _) => format!("{stem}.rank{rank}{LOG_ENDING}"),
        (None, Some((stem, ending))) => format!("{stem}.rank{rank}.{ending}"),
        (None, None) => format!("{name}.rank{rank}"),
    };
    path.with_file_name(name)
}

/// Usual ending of a run log's name.
const LOG_ENDING: &str = ".runlog.jsonl";

impl RankedRun {
    /// Returns the part of the sessions that belongs to this process.
    pub(crate) fn share(&self) -> Share {
        self.place.share()
    }

    /// Returns the places of the concurrency limit that the processes hand to each other.
    pub(crate) fn places(&self) -> Option<Arc<SharedPlaces>> {
        self.places.clone()
    }

    /// Checks that every rank has drawn the same load.
    pub(crate) async fn agree(
        &self,
        load: &Load,
        context: &RunContext,
    ) -> Result<(), ExecuteError> {
        let (sessions, schedule) = (Arc::clone(&load.sessions), load.schedule.clone());
        let lead_in = load.lead_in.clone();
        let digest = drawing(context, move |_| {
            let lead_in = lead_in.iter().flat_map(|(sessions, _)| sessions.iter());
            Ok(digest(lead_in.chain(sessions.iter()), sessions.len(), &schedule))
        });
        let digest = digest.await?;
        let agreeing = async { Ok(self.group.agree(digest).await) };
        let agreed = context.unless_stopped(agreeing).await?;
        agreed.map_err(|error| ranks_failed(error, context))
    }

    /// Puts this process's part into the header of its log.
    pub(crate) fn describe(&self, header: &mut Header, load: &Load) {
        let (share, ranks) = (self.share(), self.place.ranks.get() as f64);
        header.plan = self.plan.to_json();
        let whole = header.facts.clone();
        let leading = load.leading(&self.plan.load);
        let measured = || share.indices(load.sessions.len()).skip_while(|index| *index < leading);
        let facts = &mut header.facts;
        facts.requests = measured().map(|index| load.sessions[index].records()).sum();
        facts.sessions = measured().count();
        facts.request_rate = whole.request_rate.map(|rate| rate / ranks);
        // A rank has no limit of its own if the ranks hand places to each other.
        let limit = whole.max_concurrency.filter(|_| self.places.is_none());
        facts.max_concurrency = limit.map(|limit| share.of(limit));
        let RankPlace { rank, ranks, machine } = self.place.clone();
        let (run, ranks) = (self.name.clone(), ranks.get());
        let RankMachine { host, open_files, .. } = machine;
        header.rank = Some(Box::new(RankFacts { run, rank, ranks, host, open_files, whole }));
    }

    /// Returns what sets the start of this process's measurement.
    pub(crate) fn barrier(&self, stop: StopSignal, log: StartSender) -> Barrier {
        Barrier { group: Arc::clone(&self.group), stop, log }
    }

    /// Waits for the end of every rank's measurement.
    pub(crate) async fn drained(&self) -> Option<servemark_core::RankClock> {
        self.group.drained().await.unwrap_or_default()
    }
}

/// Sets the common start of the measurement.
pub(crate) struct Barrier {
    group: Arc<dyn RankGroup>,
    stop: StopSignal,
    log: StartSender,
}

impl std::fmt::Debug for Barrier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Barrier").field("group", &self.group).finish_non_exhaustive()
    }
}

impl StartBarrier for Barrier {
    fn start(&self) -> StartFuture<'_> {
        Box::pin(async {
            let start = tokio::select! {
                biased;
                () = self.stop.reached(Stop::Drain) => return Err(interrupted()),
                start = self.group.start() => start.map_err(io::Error::other)?,
            };
            (self.log)(start);
            Ok(start.at)
        })
    }
}

fn interrupted() -> io::Error {
    io::Error::from(io::ErrorKind::Interrupted)
}

/// Returns the error of a measurement that did not start.
pub(crate) fn not_started(error: io::Error) -> ExecuteError {
    if error.kind() == io::ErrorKind::Interrupted {
        return ExecuteError::Interrupted;
    }
    match error.downcast::<RankError>() {
        Ok(error) => error.into(),
        Err(error) => ExecuteError::Machine(error),
    }
}

/// Returns the error of a step of the group: an interrupted run failed for no other reason.
fn ranks_failed(error: RankError, context: &RunContext) -> ExecuteError {
    if context.stop.signal().is(Stop::Drain) && error.code == ExitCode::Interrupted {
        ExecuteError::Interrupted
    } else {
        error.into()
    }
}

/// Returns the digest of a load. Headers are left out: those that name a session differ from run to
/// run.
fn digest<'a>(
    sessions: impl Iterator<Item = &'a Session>,
    count: usize,
    schedule: &Schedule,
) -> LoadDigest {
    let mut requests = Context::new(&SHA256);
    for (place, session) in sessions.enumerate() {
        session.samples().for_each(|sample| add(&mut requests, place, sample));
        requests.update(&session.pause.as_nanos().to_le_bytes());
        session
            .follow_ups
            .iter()
            .for_each(|turn| requests.update(&turn.pause.as_nanos().to_le_bytes()));
    }
    let mut times = Context::new(&SHA256);
    schedule.iter().for_each(|due| times.update(&due.as_nanos().to_le_bytes()));
    LoadDigest { sessions: count, requests: hex(requests), schedule: hex(times) }
}

/// Adds what makes a request. Media and audio are rendered only when a request is prepared, so they
/// count by their number and their playing time; generated texts are looked at only at the
/// beginning, because a trace has gigabytes of them.
fn add(to: &mut Context, place: usize, sample: &Sample) {
    let Sample { prompt, extra_body, adapter, .. } = sample;
    match prompt {
        Prompt::Text(text) => to.update(text.as_bytes()),
        Prompt::Lazy(text) => add_lazy(to, place, text),
        other => add_json(to, other),
    }
    add_json(to, &(extra_body, adapter));
    let numbers = [
        u64::from(sample.prompt_tokens),
        u64::from(sample.text_tokens),
        u64::from(sample.vision_tokens),
        u64::from(sample.output_tokens),
        sample.audio_ns,
        sample.media.len() as u64,
    ];
    for number in numbers {
        to.update(&number.to_le_bytes());
    }
}

fn add_lazy(to: &mut Context, place: usize, text: &LazyText) {
    if place < GENERATED {
        to.update(text.text().as_bytes());
    }
}

/// Number of sessions whose generated texts are compared.
const GENERATED: usize = 16;

fn add_json(to: &mut Context, value: &impl Serialize) {
    // Prompts and keys are plain JSON.
    to.update(&serde_json::to_vec(value).unwrap_or_default());
}

fn hex(digest: Context) -> String {
    let mut text = String::with_capacity(64);
    for byte in digest.finish().as_ref() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Returns the part of a limit of connections that belongs to this process.
pub(crate) fn part_of(context: &RunContext, whole: usize) -> usize {
    share_of(context).of(whole)
}

/// Returns the part of a run that belongs to this process.
pub(crate) fn share_of(context: &RunContext) -> Share {
    context.ranks.as_ref().map_or(Share::WHOLE, |group| group.place().share())
}

/// Returns the number of processes that share a run.
pub(crate) fn ranks_of(context: &RunContext) -> NonZeroUsize {
    context.ranks.as_ref().map_or(NonZeroUsize::MIN, |group| group.place().ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ranks_log_stands_beside_that_of_the_run() {
        let log = |path: &str| rank_log(Path::new(path), 2);
        assert_eq!(log("out/run.runlog.jsonl"), Path::new("out/run.rank2.runlog.jsonl"));
        assert_eq!(log("out/a.b.jsonl"), Path::new("out/a.b.rank2.jsonl"));
        assert_eq!(log("log"), Path::new("log.rank2"));
    }

    #[test]
    fn loads_differ_if_a_request_or_a_due_time_does() {
        let schedule = Schedule::burst(2);
        let of = |text: &str, output: u32, schedule: &Schedule| {
            let sessions = [Session::from(Sample::new(text, 1, output))];
            digest(sessions.iter(), 1, schedule)
        };
        let first = of("a", 5, &schedule);
        assert_eq!(first, of("a", 5, &schedule));
        assert_ne!(first.requests, of("b", 5, &schedule).requests);
        assert_ne!(first.requests, of("a", 6, &schedule).requests);
        let longer = of("a", 5, &Schedule::burst(3));
        assert_eq!(first.requests, longer.requests);
        assert_ne!(first.schedule, longer.schedule);
    }
}
