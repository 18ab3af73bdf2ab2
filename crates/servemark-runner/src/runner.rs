//! The loop that sends.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use servemark_core::{Phase, RequestError, Sample, Session, ShardCost, Stamp, Transport};
use servemark_pacer::Pacer;
use servemark_schedule::Schedule;
use tokio::task::LocalSet;

use crate::airborne::Airborne;
use crate::alarm::Alarm;
use crate::cost::{RunMeter, ThreadMeter};
use crate::flight::{Departure, Flight, Outcome};
use crate::gate::{Pass, Shut};
use crate::look_ahead::LookAhead;
use crate::orders::Orders;
use crate::pace::Pace;
use crate::start::Start;
use crate::{LoadSpec, Observer, Share, Stop, StopSignal, WarmupSpec};

/// Sends requests when they are due and tells an [`Observer`] what came of each.
///
/// All of it happens on the thread that calls: sessions are tasks of a local set, so a stamp is
/// never taken on one core and looked at on another. A [`Fleet`](crate::Fleet) has a runner for
/// each of several threads.
#[derive(Debug)]
pub struct Runner<P> {
    alarm: Rc<Alarm<P>>,
    orders: Orders,
}

/// What is to be sent, and which part of it.
pub(crate) struct Work<'a, T> {
    pub(crate) transport: &'a Arc<T>,
    pub(crate) sessions: &'a Arc<[Session]>,
    pub(crate) schedule: &'a Schedule,
    pub(crate) share: Share,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// How each request that was sent ended.
    pub(crate) outcomes: Vec<Outcome>,
    /// What that cost.
    pub(crate) cost: ShardCost,
    /// The instant from which all due times count.
    pub(crate) start: Stamp,
    /// What the machine did since.
    pub(crate) since: RunMeter,
}

impl<P: Pacer> Runner<P> {
    /// A runner for `load`. Its schedule is given with the sessions, because both are drawn from
    /// one random state.
    pub fn new(pacer: P, load: &LoadSpec, observer: Arc<dyn Observer>, stop: StopSignal) -> Self {
        Self::under(pacer, Orders::new(load, observer, stop))
    }

    /// One of the runners of a run.
    pub(crate) fn under(pacer: P, orders: Orders) -> Self {
        Self { alarm: Rc::new(Alarm::new(pacer)), orders }
    }

    /// What it has in common with the other runners of its run.
    pub(crate) fn orders(&self) -> &Orders {
        &self.orders
    }

    /// The clock that it goes by.
    pub(crate) fn clock(&self) -> &P {
        self.alarm.clock()
    }

    /// The time on this runner's clock.
    pub fn now(&self) -> Stamp {
        self.alarm.now()
    }

    /// Waits for `time`, on this runner's clock.
    pub async fn wait(&self, time: Duration) {
        self.alarm.alone_until(self.now() + time).await;
    }

    /// Sends copies of `sample` all at once, through the same gate as the measurement. Says how
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
        self.alone(transport, Phase::Warmup, &copies, &at_once).await
    }

    /// Opens every session of a warm-up that is more than copies of one sample, all at once. Says
    /// how each ended.
    pub async fn warm_up_with<T: Transport>(
        &self,
        transport: &Arc<T>,
        sessions: &Arc<[Session]>,
    ) -> Vec<Result<(), RequestError>> {
        let at_once = Schedule::burst(sessions.len());
        self.alone(transport, Phase::Warmup, sessions, &at_once).await
    }

    /// Sends one request at once, which is no part of the measurement, and says how it ended;
    /// nothing if the runner was told to stop.
    pub async fn probe<T: Transport>(
        &self,
        transport: &Arc<T>,
        sample: &Sample,
    ) -> Option<Result<(), RequestError>> {
        let one: Arc<[Session]> = [Session::from(sample.clone())].into();
        self.alone(transport, Phase::Probe, &one, &Schedule::burst(1)).await.pop()
    }

    /// Opens every session when the schedule says, sends each later turn when its pause after the
    /// answer before it is over, and waits for all of them. Says how each request that was sent
    /// ended.
    ///
    /// A session keeps its place at the gate to its end. A turn that fails ends its session.
    ///
    /// If asked to [drain](Stop::Drain) it sends no more and waits for what is in flight; if asked
    /// to stop [now](Stop::Now) it cancels that, and each still has its record. Dropping the future
    /// abandons the requests in flight, without records.
    pub async fn measure<T: Transport>(
        &self,
        transport: &Arc<T>,
        sessions: &Arc<[Session]>,
        schedule: &Schedule,
    ) -> Vec<Result<(), RequestError>> {
        self.alone(transport, Phase::Measure, sessions, schedule).await
    }

    /// The same of sessions that are no part of the measurement, with a schedule of their own.
    pub async fn lead_in<T: Transport>(
        &self,
        transport: &Arc<T>,
        sessions: &Arc<[Session]>,
        schedule: &Schedule,
    ) -> Vec<Result<(), RequestError>> {
        self.alone(transport, Phase::Warmup, sessions, schedule).await
    }

    async fn alone<T: Transport>(
        &self,
        transport: &Arc<T>,
        phase: Phase,
        sessions: &Arc<[Session]>,
        schedule: &Schedule,
    ) -> Vec<Outcome> {
        let work = Work { transport, sessions, schedule, share: Share::WHOLE };
        let sent = self.send(phase, work, Start::AtOnce).await;
        sent.expect("nobody else can fail to start").outcomes
    }

    /// Does its part of the work. It fails if another shard cannot start; nothing is sent then.
    pub(crate) async fn send<T: Transport>(
        &self,
        phase: Phase,
        work: Work<'_, T>,
        start: Start<'_>,
    ) -> io::Result<Sent> {
        let sending = async {
            tokio::select! {
                biased;
                never = self.alarm.keep() => match never {},
                sent = self.open(phase, work, start) => sent,
            }
        };
        LocalSet::new().run_until(sending).await
    }

    async fn open<T: Transport>(
        &self,
        phase: Phase,
        work: Work<'_, T>,
        start: Start<'_>,
    ) -> io::Result<Sent> {
        let (transport, sessions) = (Arc::clone(work.transport), Arc::clone(work.sessions));
        let (share, most) = (work.share, self.orders.look_ahead);
        let calls = LookAhead::new(transport, sessions, self.total(phase, &work), share, most);
        let is_leading = share.shard() == 0 && phase == Phase::Measure;
        let shut = if is_leading { self.orders.gate.shut() } else { None };
        calls.full().await;
        let start = start.agree(self.clock()).await?;
        let (since, thread) = (RunMeter::start(self.clock()), ThreadMeter::start());
        let outcomes = tokio::select! {
            biased;
            never = self.admit(shut, start) => match never {},
            outcomes = self.depart(phase, &work, &calls, start) => outcomes,
        };
        Ok(Sent { outcomes, cost: thread.stop(), start, since })
    }

    /// Opens the places of the gate that are shut, one by one.
    async fn admit(&self, shut: Option<Shut>, start: Stamp) -> Infallible {
        for (shut, offset) in shut.iter().flat_map(|shut| shut.offsets().map(move |at| (shut, at)))
        {
            self.alarm.until(start + offset).await;
            shut.open_one();
        }
        std::future::pending().await
    }

    /// How many sessions there are to open; without an end if they come in rounds.
    fn total<T>(&self, phase: Phase, work: &Work<'_, T>) -> usize {
        let is_endless = self.orders.in_rounds && phase == Phase::Measure;
        if is_endless { ENDLESS } else { work.sessions.len() }
    }

    /// Lets each session go when it is due, or by the transport's head start before. The gate is
    /// first come, first served, so one that waits there holds up only those who would wait behind
    /// it.
    async fn depart<T: Transport>(
        &self,
        phase: Phase,
        work: &Work<'_, T>,
        calls: &LookAhead<T>,
        start: Stamp,
    ) -> Vec<Outcome> {
        let Work { schedule, share, .. } = *work;
        let flight = Rc::new(self.flight(phase, work));
        if self.orders.phase_of(0, phase) == Phase::Measure {
            self.orders.deadline.begin(start);
        }
        let mut over = pin!(self.over(phase));
        let (mut airborne, mut pace) = (Airborne::default(), Pace::of(schedule, share, start));
        let head_start = work.transport.head_start();
        // Who comes again is due when the last one was.
        let more = self.total(phase, work).saturating_sub(schedule.len());
        let again = std::iter::repeat_n(schedule.span(), more);
        for (index, offset) in share.of_all(schedule.iter().chain(again)) {
            let due = start + offset;
            let wake = pace.wake(due) - head_start;
            let Some(pass) = self.pass(wake, over.as_mut()).await else { break };
            let granted = self.now();
            if self.orders.phase_of(index, phase) == Phase::Measure {
                self.orders.deadline.begin(granted);
            }
            let Some(call) = calls.next().await else { break };
            let departure = Departure { index, due, pass, granted, call };
            airborne.add(Box::pin(Rc::clone(&flight).fly(departure))).await;
        }
        airborne.landed().await
    }

    /// The right to be in flight, at `time` at the earliest; none if the run was stopped before, or
    /// its time is over.
    async fn pass(&self, time: Stamp, over: Pin<&mut impl Future<Output = ()>>) -> Option<Pass> {
        let pass = async {
            self.alarm.until(time).await;
            self.orders.room(self.clock()).await;
            self.orders.gate.pass().await
        };
        tokio::select! {
            biased;
            () = self.orders.stop.reached(Stop::Drain) => None,
            () = over => None,
            pass = pass => Some(pass),
        }
    }

    /// Waits for the end of the time in which requests are sent.
    async fn over(&self, phase: Phase) {
        if phase != Phase::Measure {
            return std::future::pending().await;
        }
        self.alarm.until(self.orders.deadline.known().await).await;
    }

    fn flight<T: Transport>(&self, phase: Phase, work: &Work<'_, T>) -> Flight<T, P> {
        Flight {
            transport: Arc::clone(work.transport),
            sessions: Arc::clone(work.sessions),
            phase,
            alarm: Rc::clone(&self.alarm),
            orders: self.orders.clone(),
        }
    }
}

/// More sessions than any run opens.
const ENDLESS: usize = usize::MAX >> 1;
