//! Rank 0: has the plan, sets the start and gathers the results.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use servemark::core::{Clock, MonotonicClock, RankClock, RankMachine, RankStart, Stamp, unix_now};
use servemark::plan::OutputSpec;
use servemark::runner::Share;
use servemark::{
    ExitCode, LiveCounts, LoadDigest, RankError, RankFuture, RankGroup, RankPlace, RankRun, Run,
};
use tokio::sync::oneshot;

use crate::beat::Beat;
use crate::coordinator::{Coordinator, CoordinatorError, Message, Subscription};
use crate::error::{no_connection, no_thread, silent, subscribed, thread_died, unlike};
use crate::gather;
use crate::lead_spec::{Concurrency, Gather, LeadSpec, RankEvent};
use crate::message::{
    Bulletin, Digest, JoinReply, Joining, PlaceReport, PlanReply, RankStage, Report, RunStage,
    ToLead, decode, encode,
};
use crate::pause::pause;
use crate::places::decide;
use crate::rank_state::RankState;
use crate::run_handles::RunHandles;
use crate::stops::{announce_stops, level, raise};
use crate::subject::Subjects;
use crate::thread::{MessageThread, Shared};

/// Rank 0 of a group.
#[derive(Debug)]
pub struct LeadGroup {
    inner: Arc<Lead>,
    thread: Mutex<Option<MessageThread>>,
}

/// What the thread of messages and the runs share.
pub(crate) struct Lead {
    pub(crate) coordinator: Arc<dyn Coordinator>,
    pub(crate) subjects: Subjects,
    pub(crate) clock: MonotonicClock,
    pub(crate) gather: Gather,
    concurrency: Concurrency,
    place: RankPlace,
    name: String,
    on_event: Box<dyn Fn(RankEvent) + Send + Sync>,
    pub(crate) state: Shared<LeadState>,
}

impl fmt::Debug for Lead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lead").field("place", &self.place).finish_non_exhaustive()
    }
}

/// The state of a group, as rank 0 sees it.
#[derive(Debug)]
pub(crate) struct LeadState {
    /// The ranks from 1 on.
    pub(crate) others: Vec<RankState>,
    bulletin: Bulletin,
    plan: Option<PlanReply>,
    load: Option<Digest>,
    run: Option<RunHandles>,
    /// Concurrency limit of the run, 0 without one.
    limit: usize,
    /// Files of the run.
    output: OutputSpec,
    started: Option<Stamp>,
    /// When lost ranks were looked for.
    looked: Stamp,
    lost_any: bool,
}

impl LeadState {
    /// Decides anew how many places of the concurrency limit each rank is to have.
    fn deal_out_places(&mut self) {
        let run = self.bulletin.run;
        let Some(own) = self.run.as_ref().and_then(|run| run.places.as_ref()) else { return };
        let targets = &self.bulletin.places;
        let lead = (targets[0], PlaceReport::from(own.counts()));
        let others = self.others.iter().zip(&targets[1..]).map(|(other, &target)| {
            let unknown = PlaceReport { held: target, ..PlaceReport::default() };
            let reported = other.report.places.filter(|_| other.report.run == run);
            match other.lost {
                // What a lost rank had is free again.
                Some(_) => (0, PlaceReport::default()),
                None => (target, reported.unwrap_or(unknown)),
            }
        });
        let current: Vec<_> = std::iter::once(lead).chain(others).collect();
        let decided = decide(self.limit, &current);
        own.set_target(decided[0]);
        self.bulletin.places = decided;
    }

    /// Returns the number of the run in progress.
    pub(crate) fn run_number(&self) -> u64 {
        self.bulletin.run
    }
}

impl LeadGroup {
    /// Becomes rank 0 and waits until every other rank has joined. Blocks the calling thread.
    pub fn open(coordinator: Arc<dyn Coordinator>, spec: LeadSpec) -> Result<Self, RankError> {
        let LeadSpec { name, ranks, machine, gather, concurrency, patience, on_event } = spec;
        let clock = MonotonicClock::start();
        let others = (1..ranks.get()).map(RankState::empty).collect();
        let bulletin = Bulletin { instance: instance(), ..Bulletin::default() };
        let state = LeadState {
            others,
            bulletin,
            plan: None,
            load: None,
            run: None,
            limit: 0,
            output: OutputSpec::default(),
            started: None,
            looked: clock.now(),
            lost_any: false,
        };
        let inner = Arc::new(Lead {
            coordinator,
            subjects: Subjects::of(&name),
            clock,
            gather,
            concurrency,
            place: RankPlace { rank: 0, ranks, machine },
            name,
            on_event,
            state: Shared::new(state),
        });
        let (ready, is_ready) = std::sync::mpsc::channel();
        let lead = Arc::clone(&inner);
        let work = move |end| async move {
            match lead.listen().await {
                Ok(listening) => {
                    let joining = tokio::time::timeout(patience, lead.all_joined());
                    let handling = lead.handle(listening, end);
                    let report = async {
                        // The receiver waits for exactly this.
                        let _ = ready.send(match joining.await {
                            Ok(()) => Ok(()),
                            Err(_) => Err(lead.missing(patience)),
                        });
                    };
                    tokio::join!(handling, report);
                }
                Err(error) => drop(ready.send(Err(error))),
            }
        };
        let thread = MessageThread::start(work).map_err(|error| no_thread(&error))?;
        is_ready.recv().map_err(|_| thread_died())??;
        Ok(Self { inner, thread: Mutex::new(Some(thread)) })
    }

    /// Tells the other ranks that there will be no further run.
    pub fn close(&self) {
        drop(self.thread.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Returns whether a rank was lost in any run so far.
    pub fn lost_any(&self) -> bool {
        self.inner.state.read(|state| state.lost_any)
    }
}

/// Returns a number that identifies a process.
pub(crate) fn instance() -> u64 {
    let nanos = u64::try_from(unix_now().as_nanos()).unwrap_or_default();
    nanos ^ u64::from(std::process::id()).rotate_left(40)
}

/// The subscriptions of rank 0.
struct Listening {
    requests: Subscription,
    clock: Subscription,
}

impl Lead {
    /// Subscribes to what the other ranks send, unless another process does already.
    async fn listen(&self) -> Result<Listening, RankError> {
        let payload = encode(&ToLead::AreYouThere);
        let other = self.coordinator.request(self.subjects.lead(), payload, OTHER_LEAD).await;
        match other {
            Ok(_) => {
                let name = &self.name;
                return Err(RankError::new(
                    format!(
                        "another rank 0 of the group {name} uses this coordinator: end it, or give \
                         this group a name of its own, as in nats://HOST:PORT/NAME"
                    ),
                    ExitCode::Usage,
                ));
            }
            Err(CoordinatorError::Connection(reason)) => return Err(no_connection(&reason)),
            Err(_) => {}
        }
        let coordinator = self.coordinator.as_ref();
        let requests = subscribed(coordinator, self.subjects.lead()).await?;
        let clock = subscribed(coordinator, self.subjects.clock()).await?;
        Ok(Listening { requests, clock })
    }

    async fn all_joined(&self) {
        let is_full = |state: &LeadState| state.others.iter().all(|other| other.joined.is_some());
        self.state.until(|state| is_full(state).then_some(())).await;
    }

    /// Returns the error of ranks that have not joined in time.
    fn missing(&self, patience: Duration) -> RankError {
        let missing: Vec<String> = self.state.read(|state| {
            let absent = state.others.iter().filter(|other| other.joined.is_none());
            absent.map(|other| other.rank.to_string()).collect()
        });
        let (ranks, seconds) = (self.place.ranks, patience.as_secs());
        let (noun, verb) = if missing.len() == 1 { ("rank", "has") } else { ("ranks", "have") };
        RankError::new(
            format!(
                "{noun} {} of {ranks} {verb} not joined within {seconds} s: start every rank from \
                 0 to {} with the same coordinator and number of ranks",
                missing.join(", "),
                ranks.get() - 1
            ),
            ExitCode::NotReady,
        )
    }

    /// Handles messages until the group is closed.
    async fn handle(&self, listening: Listening, mut end: oneshot::Receiver<()>) {
        let Listening { mut requests, mut clock } = listening;
        let answer_clock = async {
            while let Some(question) = clock.next().await {
                let now = self.clock.now().as_nanos().to_le_bytes();
                question.reply(Bytes::copy_from_slice(&now)).await;
            }
        };
        let handle_requests = async {
            while let Some(message) = requests.next().await {
                self.on_message(message).await;
            }
        };
        let publish = async {
            let mut beat = Beat::start();
            loop {
                let is_fast =
                    self.state.read(|state| RunHandles::shares_places(state.run.as_ref()));
                if beat.due(&self.state, is_fast).await {
                    self.find_lost();
                }
                self.publish().await;
            }
        };
        let answer = async {
            tokio::join!(answer_clock, handle_requests);
            std::future::pending::<()>().await;
        };
        tokio::pin!(answer);
        tokio::select! {
            biased;
            _ = &mut end => {}
            () = publish => {}
            () = &mut answer => {}
        }
        tokio::select! {
            () = self.announce_end() => {}
            () = &mut answer => {}
        }
    }

    /// Publishes that there will be no further run until every rank knows it.
    async fn announce_end(&self) {
        self.state.change(|state| state.bulletin.closed = true);
        let all_know = self.state.until(|state| {
            let all = state.others.iter().all(RankState::expects_no_run);
            all.then_some(())
        });
        let publish = async {
            loop {
                self.publish().await;
                pause(CLOSING_GAP).await;
            }
        };
        tokio::select! {
            () = all_know => {}
            () = publish => {}
            () = pause(CLOSING_PATIENCE) => {}
        }
    }

    async fn publish(&self) {
        let bulletin = self.state.change(|state| {
            if let Some(run) = &state.run {
                let stop = level(run.stop.level());
                state.bulletin.stop = stop;
                let counts = state.others.iter().map(|other| other.report.counts);
                run.live.set_elsewhere(counts.fold(LiveCounts::default(), |sum, more| sum + more));
            }
            state.deal_out_places();
            state.bulletin.number += 1;
            state.bulletin.clone()
        });
        // The next bulletin makes good for a lost one.
        let _ = self.coordinator.publish(self.subjects.all(), encode(&bulletin)).await;
    }

    async fn on_message(&self, message: Message) {
        match decode(&message.payload) {
            Some(ToLead::Join(joining)) => {
                let reply = self.on_join(joining);
                message.reply(encode(&reply)).await;
            }
            Some(ToLead::Plan { run }) => {
                let plan = self
                    .state
                    .read(|state| state.plan.clone().filter(|_| state.bulletin.run == run));
                if let Some(plan) = plan {
                    message.reply(encode(&plan)).await;
                }
            }
            Some(ToLead::Report(report)) => self.on_report(report),
            Some(ToLead::AreYouThere) => message.reply(Bytes::from_static(b"yes")).await,
            None => {}
        }
    }

    fn on_join(&self, joining: Joining) -> JoinReply {
        let refusal = self.refusal(&joining);
        if let Some(reason) = refusal {
            (self.on_event)(RankEvent::Refused { reason: reason.clone() });
            return JoinReply::Refused { reason };
        }
        let now = self.clock.now();
        let (rank, machine) = (joining.rank, joining.machine.clone());
        let joined = self.state.announce(|state| {
            let other = &mut state.others[rank - 1];
            let is_new =
                other.joined.as_ref().is_none_or(|before| before.instance != joining.instance);
            if is_new {
                *other = RankState { joined: Some(joining), seen: now, ..RankState::empty(rank) };
            }
            let joined = state.others.iter().filter(|other| other.joined.is_some()).count() + 1;
            is_new.then_some(joined)
        });
        if let Some(joined) = joined {
            (self.on_event)(RankEvent::Joined { rank, machine, joined });
        }
        JoinReply::Joined
    }

    /// Returns why a process may not take part, if it may not.
    fn refusal(&self, joining: &Joining) -> Option<String> {
        let Joining { rank, ranks, version, machine: RankMachine { host, .. }, instance } = joining;
        let (own_ranks, own_version) = (self.place.ranks.get(), env!("CARGO_PKG_VERSION"));
        if *version != own_version {
            return Some(format!(
                "rank {rank} ({host}) is servemark {version} and rank 0 is {own_version}: use one \
                 version"
            ));
        }
        if *ranks != own_ranks {
            return Some(format!(
                "rank {rank} ({host}) was started for {ranks} ranks and rank 0 for {own_ranks}: \
                 give each the same number"
            ));
        }
        if *rank == 0 || *rank >= own_ranks {
            return Some(format!(
                "a second process ({host}) is rank {rank} of {own_ranks}: give each process a rank \
                 of its own, from 0 to {}",
                own_ranks - 1
            ));
        }
        self.state.read(|state| {
            let other = &state.others[rank - 1];
            let before = other.joined.as_ref().filter(|before| before.instance != *instance)?;
            let is_running = !matches!(state.bulletin.stage, RunStage::Idle);
            (other.lost.is_none() || is_running).then(|| {
                format!(
                    "rank {rank} was taken by a process on {} when another on {host} asked for it: \
                     give each process a rank of its own",
                    before.machine.host
                )
            })
        })
    }

    fn on_report(&self, report: Report) {
        let now = self.clock.now();
        let Some(place) = report.rank.checked_sub(1) else { return };
        let rank = report.rank;
        let (is_back, stops) = self.state.change(|state| {
            let Some(other) = state.others.get_mut(place) else { return (false, 0) };
            let is_known =
                other.joined.as_ref().is_some_and(|known| known.instance == report.instance);
            if !is_known || report.number <= other.report.number {
                return (false, 0);
            }
            other.seen = now;
            let has_failed = matches!(report.stage, RankStage::Failed { .. });
            let is_back = !has_failed && other.lost.take().is_some();
            let stops = if report.run == state.bulletin.run { report.stop } else { 0 };
            other.report = report;
            (is_back, stops)
        });
        if is_back {
            (self.on_event)(RankEvent::Returned { rank });
        }
        // A stop of one rank is a stop of all.
        self.state.read(|state| {
            if let Some(run) = &state.run {
                raise(&run.stop, stops);
            }
        });
    }

    /// Finds ranks that have not been heard of for too long, or that failed in the run.
    fn find_lost(&self) {
        let now = self.clock.now();
        let lost = self.state.change(|state| {
            let run = state.bulletin.run;
            let (started, is_running) = (state.started, state.run.is_some());
            // While this process stood still, as on a suspended machine, it heard of no rank.
            let stood_still = now.since(state.looked) > STANDSTILL;
            state.looked = now;
            let mut lost = Vec::new();
            for other in &mut state.others {
                if stood_still {
                    other.seen = now;
                }
                let silence = now.since(other.seen);
                let reason = match other.stage(run) {
                    RankStage::Failed { reason } => Some(reason.clone()),
                    _ if silence > LOST_AFTER => Some(silent(other.seen, started)),
                    _ => None,
                };
                if let Some(reason) = reason
                    && other.joined.is_some()
                    && other.lost.is_none()
                    && is_running
                {
                    other.lost = Some(reason.clone());
                    lost.push(RankEvent::Lost { rank: other.rank, reason });
                }
            }
            lost
        });
        for event in lost {
            (self.on_event)(event);
        }
    }

    /// Sets that the run does not take place, and returns the error.
    fn give_up(&self, message: String, code: ExitCode) -> RankError {
        self.abandon(&message);
        RankError::new(message, code)
    }

    fn abandon(&self, reason: &str) {
        self.state.announce(|state| {
            state.bulletin.stage = RunStage::Abandoned { reason: reason.to_owned() };
            state.run = None;
        });
    }

    /// Returns why the run cannot start, or `None` while ranks are still preparing.
    fn obstacle(state: &LeadState) -> Option<Result<(), (String, ExitCode)>> {
        let run = state.bulletin.run;
        for other in &state.others {
            if let RankStage::Failed { reason } = other.stage(run) {
                let message = format!("{} cannot take part: {reason}", other.name());
                return Some(Err((message, ExitCode::NotReady)));
            }
            if let Some(reason) = &other.lost {
                let message = format!("{} was lost before the start: {reason}", other.name());
                return Some(Err((message, ExitCode::NotReady)));
            }
            let drawn = other.report.load.as_ref().filter(|_| other.report.run == run);
            if let Some((theirs, ours)) = drawn.zip(state.load.as_ref())
                && theirs != ours
            {
                return Some(Err((unlike(&other.name(), theirs, ours), ExitCode::Usage)));
            }
        }
        let is_ready = |other: &RankState| *other.stage(run) == RankStage::Ready;
        state.others.iter().all(is_ready).then_some(Ok(()))
    }
}

impl RankGroup for LeadGroup {
    fn place(&self) -> RankPlace {
        self.inner.place.clone()
    }

    fn shares_places(&self) -> bool {
        self.inner.concurrency == Concurrency::Shared
    }

    fn begin(&self, run: RankRun) -> RankFuture<'_, String> {
        let lead = Arc::clone(&self.inner);
        Box::pin(async move {
            let limit = run.plan.load.max_concurrency.map_or(0, NonZeroUsize::get);
            let ranks = lead.place.ranks;
            let shares = (0..ranks.get()).map(|rank| Share::of_rank(rank, ranks).of(limit));
            let shares: Vec<usize> =
                if run.places.is_some() { shares.collect() } else { Vec::new() };
            let name = format!("{}-{:016x}", lead.name, instance());
            let clock_started = lead.clock.stamp(run.clock.instant(Stamp::ZERO));
            let reply = PlanReply {
                name: name.clone(),
                plan: run.plan.to_json(),
                clock_started_ns: clock_started.as_nanos(),
                gathers_logs: lead.gather == Gather::Logs,
                shares_places: lead.concurrency == Concurrency::Shared,
            };
            lead.state.announce(|state| {
                state.bulletin.run += 1;
                state.bulletin.stage = RunStage::Preparing;
                state.bulletin.stop = 0;
                state.plan = Some(reply);
                state.load = None;
                state.started = None;
                state.bulletin.places = shares;
                (state.limit, state.output) = (limit, run.plan.output.clone());
                state.run = Some(RunHandles::of(run));
            });
            Ok(name)
        })
    }

    fn agree(&self, load: LoadDigest) -> RankFuture<'_, ()> {
        self.inner.state.announce(|state| state.load = Some(load.into()));
        Box::pin(async { Ok(()) })
    }

    fn start(&self) -> RankFuture<'_, RankStart> {
        let lead = Arc::clone(&self.inner);
        Box::pin(async move {
            let ready = lead.state.until(Lead::obstacle).await;
            ready.map_err(|(message, code)| lead.give_up(message, code))?;
            let start = lead.clock.now() + NOTICE;
            let clock_started = lead.state.announce(|state| {
                state.bulletin.stage = RunStage::Start { at_ns: start.as_nanos() };
                state.started = Some(start);
                state.plan.as_ref().map_or(0, |plan| plan.clock_started_ns)
            });
            // A lost bulletin must not make a rank late: the start is published more often than
            // anything else.
            for _ in 0..ANNOUNCEMENTS {
                pause(ANNOUNCEMENT_GAP).await;
                lead.state.announce(|_| ());
            }
            let at = Stamp::from_nanos(start.as_nanos().saturating_sub(clock_started));
            Ok(RankStart { at, clock: RankClock::default() })
        })
    }

    fn drained(&self) -> RankFuture<'_, Option<RankClock>> {
        let lead = Arc::clone(&self.inner);
        Box::pin(async move {
            let stop = lead.state.read(|state| state.run.as_ref().map(|run| run.stop.clone()));
            let all_over = lead.state.until(|state| {
                let run = state.bulletin.run;
                state.others.iter().all(|other| other.is_over(run)).then_some(())
            });
            match stop {
                Some(stop) => {
                    // What stopped this rank, or stops it now, stops the others.
                    lead.state.announce(|_| ());
                    tokio::select! {
                        () = all_over => {}
                        () = announce_stops(&lead.state, &stop) => {}
                    }
                }
                None => all_over.await,
            }
            Ok(None)
        })
    }

    fn gather(&self, run: Run) -> RankFuture<'_, Run> {
        let lead = Arc::clone(&self.inner);
        Box::pin(async move {
            let ranks = lead.place.ranks.get();
            if ranks > 1 {
                (lead.on_event)(RankEvent::Gathering { ranks });
            }
            let gathered = gather::gather(&lead, run).await;
            lead.state.announce(|state| {
                state.bulletin.stage = RunStage::Idle;
                state.run = None;
            });
            gathered
        })
    }

    fn abandon(&self, reason: String) -> RankFuture<'_, ()> {
        self.inner.abandon(&reason);
        Box::pin(async { Ok(()) })
    }
}

impl Lead {
    /// Returns the files of the run in progress.
    pub(crate) fn output(&self) -> OutputSpec {
        self.state.read(|state| state.output.clone())
    }

    /// Returns the number of the run in progress.
    pub(crate) fn run(&self) -> u64 {
        self.state.read(LeadState::run_number)
    }

    /// Counts a rank whose results could not be gathered as lost.
    pub(crate) fn lose(&self, rank: usize, reason: &str) {
        let is_new = self.state.change(|state| {
            state.lost_any = true;
            let other = &mut state.others[rank - 1];
            let is_new = other.lost.is_none();
            other.lost.get_or_insert_with(|| reason.to_owned());
            is_new
        });
        if is_new {
            (self.on_event)(RankEvent::Lost { rank, reason: reason.to_owned() });
        }
    }
}

/// Time without a report after which a rank counts as lost. A network may be cut for five seconds.
pub(crate) const LOST_AFTER: Duration = Duration::from_secs(8);

/// Time between two looks for lost ranks, which are a second apart, from which on this process stood
/// still.
const STANDSTILL: Duration = Duration::from_secs(3);

/// Time from setting the start to the start.
const NOTICE: Duration = Duration::from_secs(2);

/// How often the start is published besides the usual bulletins, and the time between.
const ANNOUNCEMENTS: u32 = 6;
const ANNOUNCEMENT_GAP: Duration = Duration::from_millis(150);

/// Time to wait for another process that is rank 0 already.
const OTHER_LEAD: Duration = Duration::from_millis(500);

/// Time between two publications of the end.
const CLOSING_GAP: Duration = Duration::from_millis(50);

/// Time after which rank 0 ends although a rank has not said that it knows the end.
const CLOSING_PATIENCE: Duration = Duration::from_secs(3);
