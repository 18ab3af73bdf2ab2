//! The loop that sends.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use servemark_core::{Phase, RequestError, Sample, Session, Stamp, Transport};
use servemark_pacer::Pacer;
use servemark_schedule::Schedule;
use tokio::task::{JoinSet, LocalSet};

use crate::alarm::Alarm;
use crate::flight::{Departure, Flight, Outcome};
use crate::gate::{Gate, Pass};
use crate::look_ahead::LookAhead;
use crate::observer::Observed;
use crate::{LoadSpec, LookAheadSpec, Observer, Stop, StopSignal, WarmupSpec};

/// Sends requests when they are due and tells an [`Observer`] what came of each.
///
/// All of it happens on the thread that calls: sessions are tasks of a local set, so a stamp is
/// never taken on one core and looked at on another.
#[derive(Debug)]
pub struct Runner<P> {
    alarm: Rc<Alarm<P>>,
    gate: Gate,
    look_ahead: LookAheadSpec,
    echo_reasoning: bool,
    stop: StopSignal,
    observer: Observed,
}

impl<P: Pacer> Runner<P> {
    /// A runner for `load`. Its schedule is given with the sessions, because both are drawn from
    /// one random state.
    pub fn new(pacer: P, load: &LoadSpec, observer: Arc<dyn Observer>, stop: StopSignal) -> Self {
        Self {
            alarm: Rc::new(Alarm::new(pacer)),
            gate: Gate::new(load.max_concurrency),
            look_ahead: load.look_ahead,
            echo_reasoning: load.sessions.echo_reasoning,
            stop,
            observer: Observed(observer),
        }
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
        self.send(transport, Phase::Warmup, &copies, &at_once).await
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
        self.send(transport, Phase::Measure, sessions, schedule).await
    }

    async fn send<T: Transport>(
        &self,
        transport: &Arc<T>,
        phase: Phase,
        sessions: &Arc<[Session]>,
        schedule: &Schedule,
    ) -> Vec<Outcome> {
        let flight = Rc::new(self.flight(transport, phase, sessions));
        let sending = async {
            tokio::select! {
                biased;
                never = self.alarm.keep() => match never {},
                outcomes = self.open(flight, schedule) => outcomes,
            }
        };
        LocalSet::new().run_until(sending).await
    }

    /// Lets each session go when it is due. The gate is first come, first served, so one that
    /// waits there holds up only those who would wait behind it.
    async fn open<T: Transport>(
        &self,
        flight: Rc<Flight<T, P>>,
        schedule: &Schedule,
    ) -> Vec<Outcome> {
        let (transport, sessions) = (Arc::clone(&flight.transport), Arc::clone(&flight.sessions));
        let calls = LookAhead::new(transport, sessions, self.look_ahead);
        let mut tasks = JoinSet::new();
        calls.full().await;
        let start = self.now();
        for (index, offset) in schedule.iter().enumerate() {
            let due = start + offset;
            let Some(pass) = self.pass(due).await else { break };
            let granted = self.now();
            let Some(call) = calls.next().await else { break };
            let departure = Departure { index, due, pass, granted, call };
            tasks.spawn_local(Rc::clone(&flight).fly(departure));
        }
        landed(tasks).await
    }

    /// The right to be in flight, at the due time at the earliest; none if the run was stopped
    /// before.
    async fn pass(&self, due: Stamp) -> Option<Pass> {
        let pass = async {
            self.alarm.until(due).await;
            self.gate.pass().await
        };
        tokio::select! {
            biased;
            () = self.stop.reached(Stop::Drain) => None,
            pass = pass => Some(pass),
        }
    }

    fn flight<T: Transport>(
        &self,
        transport: &Arc<T>,
        phase: Phase,
        sessions: &Arc<[Session]>,
    ) -> Flight<T, P> {
        Flight {
            transport: Arc::clone(transport),
            sessions: Arc::clone(sessions),
            phase,
            echo_reasoning: self.echo_reasoning,
            alarm: Rc::clone(&self.alarm),
            stop: self.stop.clone(),
            observer: self.observer.clone(),
        }
    }
}

/// Waits for every session. One that panicked is reported and lost; the others are not.
async fn landed(mut tasks: JoinSet<Vec<Outcome>>) -> Vec<Outcome> {
    let mut outcomes = Vec::with_capacity(tasks.len());
    while let Some(joined) = tasks.join_next().await {
        match joined {
            Ok(landed) => outcomes.extend(landed),
            Err(error) => tracing::error!(%error, "a session's task died and left no record"),
        }
    }
    outcomes
}
