//! A rank other than 0: executes the plans of rank 0 and keeps its results until they are fetched.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use servemark::core::{Clock, MonotonicClock, RankClock, RankMachine, RankStart, Stamp, Texts};
use servemark::plan::BenchPlan;
use servemark::{ExitCode, LoadDigest, RankError, RankFuture, RankGroup, RankPlace, RankRun, Run};
use tokio::sync::oneshot;

use crate::beat::{BEAT, Beat};
use crate::blocks::Blocks;
use crate::clock;
use crate::coordinator::{Coordinator, CoordinatorError, Message, Subscription};
use crate::error::{no_connection, no_thread, subscribed, thread_died};
use crate::lead::{LOST_AFTER, instance};
use crate::message::{
    BlockRequest, Bulletin, JoinReply, Joining, PlanReply, RankStage, Report, RunStage, ToLead,
    decode, encode,
};
use crate::pause::pause;
use crate::run_handles::RunHandles;
use crate::stops::{announce_stops, level, raise};
use crate::subject::Subjects;
use crate::thread::{MessageThread, Shared};

/// Settings of a rank other than 0.
#[derive(Clone, Debug)]
pub struct MemberSpec {
    /// Name of the group.
    pub name: String,
    /// Zero-based rank, at least 1.
    pub rank: usize,
    /// Number of ranks.
    pub ranks: NonZeroUsize,
    /// This machine.
    pub machine: RankMachine,
    /// Time to wait until rank 0 answers.
    pub patience: Duration,
}

/// A rank other than 0.
#[derive(Debug)]
pub struct MemberGroup {
    inner: Arc<Member>,
    _thread: MessageThread,
}

/// A run that rank 0 has begun.
#[derive(Clone, Debug)]
pub struct AssignedRun {
    /// Plan of the whole run, to be executed with the group in the context.
    pub plan: BenchPlan,
}

/// What the thread of messages and the runs share.
struct Member {
    coordinator: Arc<dyn Coordinator>,
    subjects: Subjects,
    clock: MonotonicClock,
    place: RankPlace,
    state: Shared<MemberState>,
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("place", &self.place).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct MemberState {
    /// The last bulletin of rank 0, and when it came.
    bulletin: Bulletin,
    heard: Stamp,
    report: Report,
    plan: Option<PlanReply>,
    /// Whether rank 0 shows or writes the texts of the answers.
    shows_texts: bool,
    run: Option<RunHandles>,
    blocks: Option<Blocks>,
}

impl MemberGroup {
    /// Joins the group. Blocks the calling thread until rank 0 answers.
    pub fn join(coordinator: Arc<dyn Coordinator>, spec: MemberSpec) -> Result<Self, RankError> {
        let MemberSpec { name, rank, ranks, machine, patience } = spec;
        let (clock, instance) = (MonotonicClock::start(), instance());
        let report = Report { rank, instance, ..Report::default() };
        let state = MemberState {
            bulletin: Bulletin::default(),
            heard: clock.now(),
            report,
            plan: None,
            shows_texts: false,
            run: None,
            blocks: None,
        };
        let inner = Arc::new(Member {
            coordinator,
            subjects: Subjects::of(&name),
            clock,
            place: RankPlace { rank, ranks, machine },
            state: Shared::new(state),
        });
        let (ready, is_ready) = std::sync::mpsc::channel();
        let member = Arc::clone(&inner);
        let work = move |end| async move {
            match member.enter(instance, &name, patience).await {
                Ok(listening) => {
                    // The receiver waits for exactly this.
                    let _ = ready.send(Ok(()));
                    member.handle(listening, end).await;
                }
                Err(error) => drop(ready.send(Err(error))),
            }
        };
        let thread = MessageThread::start(work).map_err(|error| no_thread(&error))?;
        is_ready.recv().map_err(|_| thread_died())??;
        Ok(Self { inner, _thread: thread })
    }

    /// Waits for the next run of rank 0; `None` if there will be none.
    pub async fn next_run(&self) -> Result<Option<AssignedRun>, RankError> {
        let member = &self.inner;
        let done = member.state.read(|state| state.report.run);
        let next = member.watch(|state| {
            let Bulletin { run, stage, closed, .. } = &state.bulletin;
            match stage {
                _ if *closed => Some(None),
                RunStage::Preparing | RunStage::Start { .. } if *run > done => Some(Some(*run)),
                _ => None,
            }
        });
        let Some(run) = next.await? else { return Ok(None) };
        let reply = member.ask_plan(run).await?;
        let plan = BenchPlan::from_json(reply.plan.clone()).map_err(|error| {
            RankError::new(
                format!("the plan of rank 0 cannot be read: {error}"),
                ExitCode::Internal,
            )
        })?;
        member.state.change(|state| {
            state.report.run = run;
            state.report.stage = RankStage::Preparing;
            state.report.stop = 0;
            state.report.load = None;
            state.report.places = None;
            state.plan = Some(reply);
            state.blocks = None;
        });
        Ok(Some(AssignedRun { plan }))
    }
}

/// The subscriptions of a rank.
struct Listening {
    bulletins: Subscription,
    requests: Subscription,
}

impl Member {
    /// Subscribes to what rank 0 sends and joins the group.
    async fn enter(
        &self,
        instance: u64,
        name: &str,
        patience: Duration,
    ) -> Result<Listening, RankError> {
        let coordinator = self.coordinator.as_ref();
        let bulletins = subscribed(coordinator, self.subjects.all()).await?;
        let requests = subscribed(coordinator, self.subjects.rank(self.place.rank)).await?;
        let RankPlace { rank, ranks, machine } = self.place.clone();
        let joining = Joining {
            rank,
            ranks: ranks.get(),
            instance,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            machine,
        };
        let (request, began) = (encode(&ToLead::Join(joining)), self.clock.now());
        loop {
            let lead = self.subjects.lead();
            match self.coordinator.request(lead, request.clone(), BEAT).await {
                Ok(reply) => match decode(&reply) {
                    Some(JoinReply::Joined) => return Ok(Listening { bulletins, requests }),
                    Some(JoinReply::Refused { reason }) => {
                        return Err(RankError::new(reason, ExitCode::Usage));
                    }
                    None => {}
                },
                Err(CoordinatorError::Connection(reason)) => return Err(no_connection(&reason)),
                Err(_) => {}
            }
            if self.clock.now().since(began) > patience {
                let seconds = patience.as_secs();
                return Err(RankError::new(
                    format!(
                        "rank 0 of the group {name} did not answer within {seconds} s: start it \
                         with the same coordinator and number of ranks"
                    ),
                    ExitCode::NotReady,
                ));
            }
            pause(RETRY).await;
        }
    }

    /// Handles messages until the group is left.
    async fn handle(&self, listening: Listening, mut end: oneshot::Receiver<()>) {
        let Listening { mut bulletins, mut requests } = listening;
        let hear = async {
            while let Some(message) = bulletins.next().await {
                if let Some(bulletin) = decode::<Bulletin>(&message.payload) {
                    self.on_bulletin(&bulletin);
                }
            }
        };
        let serve = async {
            while let Some(message) = requests.next().await {
                self.on_request(message).await;
            }
        };
        let publish = async {
            let mut beat = Beat::start();
            loop {
                let is_fast =
                    self.state.read(|state| RunHandles::shares_places(state.run.as_ref()));
                if beat.due(&self.state, is_fast).await {
                    self.follow_clock().await;
                }
                self.publish().await;
            }
        };
        let stops = async {
            loop {
                let handles = self.state.until(|state| state.run.clone()).await;
                let over = self.state.until(|state| state.run.is_none().then_some(()));
                tokio::select! {
                    () = over => {}
                    () = announce_stops(&self.state, &handles.stop) => {}
                }
            }
        };
        tokio::select! {
            biased;
            _ = &mut end => {}
            () = publish => {}
            () = stops => {}
            () = async { tokio::join!(hear, serve); std::future::pending().await } => {}
        }
        self.state.change(|state| state.report.closed = true);
        self.publish().await;
    }

    fn on_bulletin(&self, bulletin: &Bulletin) {
        let now = self.clock.now();
        let run = self.state.change(|state| {
            let before = &state.bulletin;
            let is_known = before.number == 0 || before.instance == bulletin.instance;
            if !is_known || bulletin.number <= before.number {
                return None;
            }
            (state.heard, state.bulletin) = (now, bulletin.clone());
            let is_own = state.report.run == bulletin.run;
            state.run.clone().filter(|_| is_own)
        });
        if bulletin.closed {
            // Every time, because a report may be lost, too.
            self.state.announce(|state| state.report.closed = true);
        }
        if let Some(run) = run {
            raise(&run.stop, bulletin.stop);
            let target = bulletin.places.get(self.place.rank);
            if let Some((places, target)) = run.places.as_ref().zip(target) {
                places.set_target(*target);
            }
        }
    }

    /// Answers a question for results.
    async fn on_request(&self, message: Message) {
        let Some(BlockRequest { run, block }) = decode(&message.payload) else { return };
        let bytes = self.state.change(|state| {
            let blocks = state.blocks.as_mut().filter(|_| state.report.run == run)?;
            blocks.get(block)
        });
        if let Some(bytes) = bytes {
            message.reply(bytes).await;
        }
    }

    async fn publish(&self) {
        let report = self.state.change(|state| {
            if let Some(run) = &state.run {
                state.report.counts = run.live.own_counts();
                state.report.stop = level(run.stop.level());
                state.report.places = run.places.as_ref().map(|places| places.counts().into());
            }
            state.report.number += 1;
            state.report.clone()
        });
        let payload = encode(&ToLead::Report(report));
        // The next report makes good for a lost one.
        let _ = self.coordinator.publish(self.subjects.lead(), payload).await;
    }

    /// Asks for rank 0's time once while requests are measured.
    async fn follow_clock(&self) {
        if self.state.read(|state| state.report.stage != RankStage::Measuring) {
            return;
        }
        if let Some(answer) =
            clock::ask(self.coordinator.as_ref(), &self.subjects, &self.clock).await
        {
            self.state.change(|state| state.report.clock = Some(answer));
        }
    }

    /// Waits until what rank 0 says gives a value. Fails if rank 0 falls silent for too long.
    async fn watch<T>(
        &self,
        mut find: impl FnMut(&MemberState) -> Option<T>,
    ) -> Result<T, RankError> {
        loop {
            let found = self.state.until(&mut find);
            if let Ok(found) = tokio::time::timeout(BEAT, found).await {
                return Ok(found);
            }
            let heard = self.state.read(|state| state.heard);
            let silence = self.clock.now().since(heard);
            if silence > LEAD_LOST_AFTER {
                return Err(RankError::new(
                    format!("rank 0 was lost: nothing was heard of it for {} s", silence.as_secs()),
                    ExitCode::Internal,
                ));
            }
        }
    }

    async fn ask_plan(&self, run: u64) -> Result<PlanReply, RankError> {
        let request = encode(&ToLead::Plan { run });
        loop {
            let reply = self.coordinator.request(self.subjects.lead(), request.clone(), BEAT).await;
            if let Some(plan) = reply.ok().and_then(|reply| decode(&reply)) {
                return Ok(plan);
            }
            let silence = self.clock.now().since(self.state.read(|state| state.heard));
            if silence > LEAD_LOST_AFTER {
                return Err(RankError::new(
                    "rank 0 was lost before it gave its plan",
                    ExitCode::Internal,
                ));
            }
            pause(RETRY).await;
        }
    }

    async fn place_clock(&self, times: usize) -> Option<RankClock> {
        clock::place(self.coordinator.as_ref(), &self.subjects, &self.clock, times).await
    }

    /// Converts the clock of rank 0, as it was placed on the clock of messages, to the clocks of the
    /// stamps of both ranks.
    fn of_stamps(&self, clock: RankClock) -> RankClock {
        let offset_ns = self.state.read(|state| {
            let (plan, run) = (state.plan.as_ref()?, state.run.as_ref()?);
            let own = self.clock.stamp(run.clock.instant(Stamp::ZERO));
            let own = i64::try_from(own.as_nanos()).ok()?;
            let lead = i64::try_from(plan.clock_started_ns).ok()?;
            Some(clock.offset_ns - lead + own)
        });
        RankClock { offset_ns: offset_ns.unwrap_or(clock.offset_ns), ..clock }
    }

    /// Returns the number of the run in progress.
    fn run(&self) -> u64 {
        self.state.read(|state| state.report.run)
    }

    fn enter_stage(&self, stage: RankStage) {
        self.state.announce(|state| state.report.stage = stage);
    }
}

/// What became of the start.
enum StartFate {
    At(u64),
    Not(RankError),
}

impl RankGroup for MemberGroup {
    fn place(&self) -> RankPlace {
        self.inner.place.clone()
    }

    fn shares_places(&self) -> bool {
        self.inner.state.read(|state| state.plan.as_ref().is_some_and(|plan| plan.shares_places))
    }

    fn begin(&self, run: RankRun) -> RankFuture<'_, String> {
        let name = self.inner.state.announce(|state| {
            state.shows_texts = run.plan.shows_texts();
            state.run = Some(RunHandles::of(run));
            state.plan.as_ref().map(|plan| plan.name.clone())
        });
        Box::pin(async move {
            let unassigned = || {
                RankError::new("a rank other than 0 begins no run of its own", ExitCode::Internal)
            };
            name.ok_or_else(unassigned)
        })
    }

    fn agree(&self, load: LoadDigest) -> RankFuture<'_, ()> {
        self.inner.state.announce(|state| state.report.load = Some(load.into()));
        Box::pin(async { Ok(()) })
    }

    fn start(&self) -> RankFuture<'_, RankStart> {
        let member = Arc::clone(&self.inner);
        Box::pin(async move {
            let clock = member.place_clock(ROUND_TRIPS_BEFORE).await;
            let clock = clock.ok_or_else(|| {
                RankError::new("the clock of rank 0 is out of reach", ExitCode::Internal)
            })?;
            member.enter_stage(RankStage::Ready);
            let run = member.run();
            let fate = member.watch(|state| {
                let Bulletin { run: now, stage, closed, .. } = &state.bulletin;
                let not = |message: String| {
                    Some(StartFate::Not(RankError::new(message, ExitCode::NotReady)))
                };
                match stage {
                    RunStage::Start { at_ns } if *now == run => Some(StartFate::At(*at_ns)),
                    RunStage::Abandoned { reason } if *now == run => {
                        not(format!("the run does not take place: {reason}"))
                    }
                    _ if *closed => not("rank 0 has ended".to_owned()),
                    _ if *now > run => not("rank 0 has begun another run".to_owned()),
                    _ => None,
                }
            });
            let at_ns = match fate.await? {
                StartFate::At(at_ns) => at_ns,
                StartFate::Not(error) => return Err(error),
            };
            member.enter_stage(RankStage::Measuring);
            let own = member.state.read(|state| state.run.as_ref().map(|run| run.clock));
            let started =
                own.map_or(0, |own| member.clock.stamp(own.instant(Stamp::ZERO)).as_nanos());
            // On the clock of messages first, then on that of the stamps.
            let at = Stamp::from_nanos(at_ns).shifted(-clock.offset_ns);
            let at = Stamp::from_nanos(at.as_nanos().saturating_sub(started));
            Ok(RankStart { at, clock: member.of_stamps(clock) })
        })
    }

    fn drained(&self) -> RankFuture<'_, Option<RankClock>> {
        let member = Arc::clone(&self.inner);
        Box::pin(async move {
            member.enter_stage(RankStage::Drained);
            let placed = member.place_clock(ROUND_TRIPS_AFTER).await;
            // If rank 0 is gone, the last answer during the measurement is the best there is.
            let last = || member.state.read(|state| state.report.clock);
            let clock = placed.or_else(last).map(|clock| member.of_stamps(clock));
            Ok(clock)
        })
    }

    fn gather(&self, run: Run) -> RankFuture<'_, Run> {
        let member = Arc::clone(&self.inner);
        Box::pin(async move {
            let keeps_texts = member.state.read(|state| {
                state.shows_texts || state.plan.as_ref().is_some_and(|plan| plan.gathers_logs)
            });
            let log = Arc::new(run.log);
            let texts = if keeps_texts { Texts::Kept } else { Texts::LeftOut };
            member.state.announce(|state| {
                state.report.stage = RankStage::Logged;
                state.blocks = Some(Blocks::of(Arc::clone(&log), texts));
            });
            let number = member.run();
            let gathered = member.watch(|state| {
                let Bulletin { run, stage, closed, .. } = &state.bulletin;
                let is_over = *run > number || *closed || *stage == RunStage::Idle;
                is_over.then_some(())
            });
            let gathered = gathered.await;
            member.state.announce(|state| {
                state.report.stage = RankStage::Idle;
                (state.run, state.blocks) = (None, None);
            });
            // The results are in this rank's own log, whatever became of rank 0.
            gathered?;
            let log = Arc::try_unwrap(log).unwrap_or_else(|log| (*log).clone());
            Ok(Run { log, ..run })
        })
    }

    fn abandon(&self, reason: String) -> RankFuture<'_, ()> {
        self.inner.state.announce(|state| {
            state.report.stage = RankStage::Failed { reason };
            state.run = None;
        });
        Box::pin(async { Ok(()) })
    }
}

/// Time without a bulletin after which rank 0 counts as lost. It is longer than for other ranks: a
/// rank that gives up too early loses the merged report.
const LEAD_LOST_AFTER: Duration = Duration::from_secs(LOST_AFTER.as_secs() * 3);

/// Pause before rank 0 is asked again.
const RETRY: Duration = Duration::from_millis(250);

/// Number of round trips by which the clock of rank 0 is placed before the start. The shortest of
/// them decides.
const ROUND_TRIPS_BEFORE: usize = 300;

/// Number of round trips by which the clock of rank 0 is placed after the measurement.
const ROUND_TRIPS_AFTER: usize = 50;
