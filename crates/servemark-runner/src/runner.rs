//! The loop that sends requests.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use servemark_core::{Clock, Phase, RequestError, Sample, Session, ShardCost, Stamp, Transport};
use servemark_pacer::Pacer;
use servemark_schedule::Schedule;
use tokio::task::LocalSet;

use crate::alarm::Alarm;
use crate::cost::{RunMeter, ThreadMeter};
use crate::erased::AnyTransport;
use crate::gate::{ClosedSlots, Pass};
use crate::in_flight::InFlight;
use crate::look_ahead::LookAhead;
use crate::pace::Pace;
use crate::run_state::RunState;
use crate::session_run::{AdmittedSession, Outcome, SessionRun};
use crate::start::Start;
use crate::{LoadSpec, Observer, Share, SharedPlaces, Stop, StopSignal, WarmupSpec};

/// Sends requests when they are due and reports the result of each to an [`Observer`].
///
/// Everything runs on the calling thread: sessions are tasks of a local set, so a stamp is never
/// taken on one core and used on another. A [`Fleet`](crate::Fleet) has a runner on each of several
/// threads.
#[derive(Debug)]
pub struct Runner {
    alarm: Rc<Alarm>,
    state: RunState,
}

/// What is to be sent, and which part of it belongs to this runner.
pub(crate) struct Work<'a> {
    pub(crate) transport: Arc<dyn AnyTransport>,
    pub(crate) sessions: &'a Arc<[Session]>,
    pub(crate) schedule: &'a Schedule,
    pub(crate) share: Share,
}

/// The result of sending.
#[derive(Debug, Default)]
pub(crate) struct SendResult {
    /// How each request that was sent ended.
    pub(crate) outcomes: Vec<Outcome>,
    /// Resources that the thread used.
    pub(crate) cost: ShardCost,
    /// The instant from which all due times count.
    pub(crate) start: Stamp,
    /// The meter of the machine's steal time since the start.
    pub(crate) since: RunMeter,
}

impl Runner {
    /// Creates a runner for `load`. Its schedule is given together with the sessions, because both
    /// are drawn from one random state.
    pub fn new(
        pacer: impl Pacer,
        load: &LoadSpec,
        observer: Arc<dyn Observer>,
        stop: StopSignal,
    ) -> Self {
        Self::of_share(pacer, load, (Share::WHOLE, None), observer, stop)
    }

    /// Creates a runner of a process that has only this share of the sessions; other processes have
    /// the rest. Its part of the concurrency limit is its share too, unless the processes hand the
    /// given places to each other.
    pub fn of_share(
        pacer: impl Pacer,
        load: &LoadSpec,
        (share, places): (Share, Option<Arc<SharedPlaces>>),
        observer: Arc<dyn Observer>,
        stop: StopSignal,
    ) -> Self {
        Self::under(pacer, RunState::new(load, share, places, observer, stop))
    }

    /// Creates one of the runners of a run.
    pub(crate) fn under(pacer: impl Pacer, state: RunState) -> Self {
        Self { alarm: Rc::new(Alarm::new(pacer)), state }
    }

    /// Returns what this runner shares with the other runners of its run.
    pub(crate) fn state(&self) -> &RunState {
        &self.state
    }

    /// Returns the clock that the runner uses.
    pub(crate) fn clock(&self) -> &dyn Clock {
        self.alarm.clock()
    }

    /// Returns the time on this runner's clock.
    pub fn now(&self) -> Stamp {
        self.alarm.now()
    }

    /// Waits for `time`, on this runner's clock.
    pub async fn wait(&self, time: Duration) {
        self.alarm.alone_until(self.now() + time).await;
    }

    /// Sends copies of `sample` all at once, through the same gate as the measurement. Returns how
    /// each ended.
    ///
    /// Dropping the future abandons the requests in flight, without records.
    pub async fn warm_up<T: Transport>(
        &self,
        transport: &Arc<T>,
        sample: &Sample,
        warmup: WarmupSpec,
    ) -> Vec<Result<(), RequestError>> {
        let mut copy = sample.clone();
        copy.output_tokens = copy.output_tokens.min(warmup.most_output_tokens);
        let copies: Arc<[Session]> = vec![Session::from(copy); warmup.requests].into();
        let at_once = Schedule::burst(copies.len());
        self.run_whole(transport, Phase::Warmup, &copies, &at_once).await
    }

    /// Starts all sessions of a warm-up with sessions of its own, all at once. Returns how each
    /// request ended.
    pub async fn warm_up_with<T: Transport>(
        &self,
        transport: &Arc<T>,
        sessions: &Arc<[Session]>,
    ) -> Vec<Result<(), RequestError>> {
        let at_once = Schedule::burst(sessions.len());
        self.run_whole(transport, Phase::Warmup, sessions, &at_once).await
    }

    /// Sends one request at once that is not part of the measurement, and returns how it ended;
    /// `None` if the runner was asked to stop.
    pub async fn probe<T: Transport>(
        &self,
        transport: &Arc<T>,
        sample: &Sample,
    ) -> Option<Result<(), RequestError>> {
        let one: Arc<[Session]> = [Session::from(sample.clone())].into();
        self.run_whole(transport, Phase::Probe, &one, &Schedule::burst(1)).await.pop()
    }

    /// Starts every session at its scheduled time, sends each later turn when its pause after the
    /// previous answer is over, and waits for all of them. Returns how each request that was sent
    /// ended.
    ///
    /// A session keeps its slot at the gate to its end. A turn that fails ends its session.
    ///
    /// If asked to [drain](Stop::Drain), the runner sends nothing more and waits for the requests
    /// in flight; if asked to stop [now](Stop::Now), it cancels those, and each still has its
    /// record. Dropping the future abandons the requests in flight, without records.
    pub async fn measure<T: Transport>(
        &self,
        transport: &Arc<T>,
        sessions: &Arc<[Session]>,
        schedule: &Schedule,
    ) -> Vec<Result<(), RequestError>> {
        self.run_share(transport, Phase::Measure, sessions, schedule, self.state.share).await
    }

    /// Sends sessions as [`measure`](Self::measure) does, outside the measurement and with a
    /// schedule of their own.
    pub async fn lead_in<T: Transport>(
        &self,
        transport: &Arc<T>,
        sessions: &Arc<[Session]>,
        schedule: &Schedule,
    ) -> Vec<Result<(), RequestError>> {
        self.run_share(transport, Phase::Warmup, sessions, schedule, self.state.share).await
    }

    /// Starts all sessions at once, through the gate, as requests of a phase outside the
    /// measurement. Returns how each request that was sent ended.
    pub async fn aside<T: Transport>(
        &self,
        transport: &Arc<T>,
        phase: Phase,
        sessions: &Arc<[Session]>,
    ) -> Vec<Result<(), RequestError>> {
        self.run_whole(transport, phase, sessions, &Schedule::burst(sessions.len())).await
    }

    /// Sends all sessions from this process alone, whatever its share of the run is.
    async fn run_whole<T: Transport>(
        &self,
        transport: &Arc<T>,
        phase: Phase,
        sessions: &Arc<[Session]>,
        schedule: &Schedule,
    ) -> Vec<Outcome> {
        self.run_share(transport, phase, sessions, schedule, Share::WHOLE).await
    }

    async fn run_share<T: Transport>(
        &self,
        transport: &Arc<T>,
        phase: Phase,
        sessions: &Arc<[Session]>,
        schedule: &Schedule,
        share: Share,
    ) -> Vec<Outcome> {
        let transport = Arc::clone(transport);
        let work = Work { transport, sessions, schedule, share };
        let sent = self.send(phase, work, Start::Alone(None)).await;
        sent.expect("no other shard can fail to start").outcomes
    }

    /// Sends this runner's part of the work. Returns an error, with nothing sent, if another shard
    /// cannot start.
    ///
    /// The future is boxed because the code of any other would be compiled in each crate that awaits
    /// it.
    pub(crate) fn send<'a>(
        &'a self,
        phase: Phase,
        work: Work<'a>,
        start: Start<'a>,
    ) -> Pin<Box<dyn Future<Output = io::Result<SendResult>> + 'a>> {
        let sending = async move {
            tokio::select! {
                biased;
                never = self.alarm.keep() => match never {},
                sent = self.open(phase, work, start) => sent,
            }
        };
        Box::pin(async move { LocalSet::new().run_until(sending).await })
    }

    async fn open(&self, phase: Phase, work: Work<'_>, start: Start<'_>) -> io::Result<SendResult> {
        let (transport, sessions) = (Arc::clone(&work.transport), Arc::clone(work.sessions));
        let (share, most) = (work.share, self.state.look_ahead);
        let calls = LookAhead::new(transport, sessions, self.total(phase, &work), share, most);
        let is_leading = share.shard() == 0 && phase == Phase::Measure;
        let closed = if is_leading { self.state.gate.close_slots() } else { None };
        calls.full().await;
        let start = start.agree(self.clock()).await?;
        let (since, thread) = (RunMeter::start(self.clock()), ThreadMeter::start());
        let outcomes = tokio::select! {
            biased;
            never = self.open_slots(closed, start) => match never {},
            outcomes = self.start_sessions(phase, &work, &calls, start) => outcomes,
        };
        Ok(SendResult { outcomes, cost: thread.stop(), start, since })
    }

    /// Opens the closed slots of the gate one by one.
    async fn open_slots(&self, closed: Option<ClosedSlots>, start: Stamp) -> Infallible {
        for (closed, offset) in
            closed.iter().flat_map(|closed| closed.offsets().map(move |at| (closed, at)))
        {
            self.alarm.until(start + offset).await;
            closed.open_one();
        }
        std::future::pending().await
    }

    /// Returns the number of sessions to start; [`ENDLESS`] if they repeat in rounds.
    fn total(&self, phase: Phase, work: &Work<'_>) -> usize {
        let is_endless = self.state.in_rounds && phase == Phase::Measure;
        if is_endless { ENDLESS } else { work.sessions.len() }
    }

    /// Starts each session when it is due, or by the transport's head start earlier. The gate is
    /// first come, first served, so a session that waits there delays only sessions that would wait
    /// behind it.
    async fn start_sessions(
        &self,
        phase: Phase,
        work: &Work<'_>,
        calls: &LookAhead,
        start: Stamp,
    ) -> Vec<Outcome> {
        let Work { schedule, share, .. } = *work;
        let session_run = Rc::new(self.session_run(phase, work));
        if self.state.phase_of(0, phase) == Phase::Measure {
            self.state.deadline.begin(start);
        }
        let mut over = pin!(self.over(phase));
        let (mut in_flight, mut pace) = (InFlight::default(), Pace::of(schedule, share, start));
        let head_start = work.transport.lead();
        // Sessions after the first round are due when the last one of it was.
        let more = self.total(phase, work).saturating_sub(schedule.len());
        let again = std::iter::repeat_n(schedule.span(), more);
        for (index, offset) in share.of_all(schedule.iter().chain(again)) {
            let due = start + offset;
            let wake = pace.wake(due) - head_start;
            let Some(pass) = self.pass(wake, over.as_mut()).await else { break };
            let granted = self.now();
            if self.state.phase_of(index, phase) == Phase::Measure {
                self.state.deadline.begin(granted);
            }
            let Some(call) = calls.next().await else { break };
            let admitted = AdmittedSession { index, due, pass, granted, call };
            in_flight.add(Box::pin(Rc::clone(&session_run).run(admitted))).await;
        }
        in_flight.join_all().await
    }

    /// Waits until `time` and for a slot at the gate; `None` if the run was stopped before, or its
    /// time is over.
    async fn pass(&self, time: Stamp, over: Pin<&mut impl Future<Output = ()>>) -> Option<Pass> {
        let pass = async {
            self.alarm.until(time).await;
            self.state.room(self.clock()).await;
            self.state.gate.pass().await
        };
        tokio::select! {
            biased;
            () = self.state.stop.reached(Stop::Drain) => None,
            () = over => None,
            pass = pass => Some(pass),
        }
    }

    /// Waits for the end of the time in which requests are sent.
    async fn over(&self, phase: Phase) {
        if phase != Phase::Measure {
            return std::future::pending().await;
        }
        self.alarm.until(self.state.deadline.end().await).await;
    }

    fn session_run(&self, phase: Phase, work: &Work<'_>) -> SessionRun {
        SessionRun {
            transport: Arc::clone(&work.transport),
            sessions: Arc::clone(work.sessions),
            phase,
            alarm: Rc::clone(&self.alarm),
            state: self.state.clone(),
        }
    }
}

/// A number of sessions that no run reaches.
const ENDLESS: usize = usize::MAX >> 1;
