//! The loop that sends.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use servemark_core::{Finish, Phase, Recorder, RequestError, Sample, Stamp, Transport};
use servemark_pacer::Pacer;
use servemark_schedule::Schedule;
use tokio::task::{JoinSet, LocalSet};

use crate::gate::Gate;
use crate::look_ahead::{LookAhead, Prepared};
use crate::{LoadSpec, Observer, Stop, StopSignal, WarmupSpec};

/// Sends requests when they are due and tells an [`Observer`] what came of each.
///
/// All of it happens on the thread that calls: requests are tasks of a local set, so a stamp is
/// never taken on one core and looked at on another.
#[derive(Debug)]
pub struct Runner<P> {
    pacer: Rc<P>,
    gate: Gate,
    look_ahead: usize,
    stop: StopSignal,
    observer: Observed,
}

impl<P: Pacer> Runner<P> {
    /// A runner for `load`. Its schedule is given with the samples, because both are drawn from
    /// one random state.
    pub fn new(pacer: P, load: &LoadSpec, observer: Arc<dyn Observer>, stop: StopSignal) -> Self {
        Self {
            pacer: Rc::new(pacer),
            gate: Gate::new(load.max_concurrency),
            look_ahead: load.look_ahead.get(),
            stop,
            observer: Observed(observer),
        }
    }

    /// The time on this runner's clock.
    pub fn now(&self) -> Stamp {
        self.pacer.now()
    }

    /// Waits for `time`, on this runner's clock.
    pub async fn wait(&self, time: Duration) {
        self.pacer.until(self.now() + time).await;
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
        let copies = vec![copy; warmup.requests];
        let at_once = Schedule::burst(copies.len());
        self.send(transport, Phase::Warmup, &copies, &at_once).await
    }

    /// Sends every sample when the schedule says, and waits for all of them. Says how each that
    /// was sent ended.
    ///
    /// If asked to [drain](Stop::Drain) it sends no more and waits for what is in flight; if asked
    /// to stop [now](Stop::Now) it cancels that, and each still has its record. Dropping the future
    /// abandons the requests in flight, without records.
    pub async fn measure<T: Transport>(
        &self,
        transport: &Arc<T>,
        samples: &[Sample],
        schedule: &Schedule,
    ) -> Vec<Result<(), RequestError>> {
        self.send(transport, Phase::Measure, samples, schedule).await
    }

    async fn send<T: Transport>(
        &self,
        transport: &Arc<T>,
        phase: Phase,
        samples: &[Sample],
        schedule: &Schedule,
    ) -> Vec<Result<(), RequestError>> {
        let flight = Rc::new(self.flight(transport, phase));
        let mut calls = LookAhead::new(transport.as_ref(), samples, self.look_ahead);
        LocalSet::new()
            .run_until(async {
                let mut requests = JoinSet::new();
                let start = self.now();
                for ((index, sample), offset) in samples.iter().enumerate().zip(schedule.iter()) {
                    let due = start + offset;
                    let Some(call) = self.next_call(&mut calls, due).await else { break };
                    let recorder = Recorder::new(index, phase, sample, due);
                    requests.spawn_local(Rc::clone(&flight).fly(recorder, call));
                }
                landed(requests).await
            })
            .await
    }

    /// The next request at its due time; none if the run was stopped before.
    async fn next_call<T: Transport>(
        &self,
        calls: &mut LookAhead<'_, T>,
        due: Stamp,
    ) -> Option<Prepared<T>> {
        if due > self.now() {
            calls.fill();
        }
        tokio::select! {
            biased;
            () = self.stop.reached(Stop::Drain) => None,
            () = self.pacer.until(due) => calls.next(),
        }
    }

    fn flight<T: Transport>(&self, transport: &Arc<T>, phase: Phase) -> Flight<T, P> {
        Flight {
            transport: Arc::clone(transport),
            phase,
            pacer: Rc::clone(&self.pacer),
            gate: self.gate.clone(),
            stop: self.stop.clone(),
            observer: self.observer.clone(),
        }
    }
}

/// What a request needs on its way.
struct Flight<T, P> {
    transport: Arc<T>,
    phase: Phase,
    pacer: Rc<P>,
    gate: Gate,
    stop: StopSignal,
    observer: Observed,
}

impl<T: Transport, P: Pacer> Flight<T, P> {
    /// One request from its due time to its record; none if the run stopped while it waited at the
    /// gate, for then it was never sent.
    async fn fly(
        self: Rc<Self>,
        mut recorder: Recorder,
        call: Prepared<T>,
    ) -> Option<Result<(), RequestError>> {
        let _pass = tokio::select! {
            biased;
            () = self.stop.reached(Stop::Drain) => return None,
            pass = self.gate.pass() => pass,
        };
        recorder.granted(self.pacer.now());
        self.observer.0.started(self.phase);
        let outcome = match call {
            Ok(call) => self.carry(call, &mut recorder).await,
            Err(error) => Err(error),
        };
        let landed = outcome.as_ref().map(|_| ()).map_err(Clone::clone);
        self.observer.0.finished(recorder.finish(outcome, self.pacer.now()));
        Some(landed)
    }

    async fn carry(
        &self,
        call: T::Prepared,
        recorder: &mut Recorder,
    ) -> Result<Finish, RequestError> {
        let mut work = pin!(self.transport.execute(call, recorder));
        let mut stop = pin!(self.stop.reached(Stop::Now));
        let mut listening = false;
        poll_fn(|cx| {
            if let Poll::Ready(outcome) = work.as_mut().poll(cx) {
                return Poll::Ready(outcome);
            }
            // This runs once per chunk. Having asked to be woken, it is enough to look.
            if std::mem::replace(&mut listening, true) && !self.stop.is(Stop::Now) {
                return Poll::Pending;
            }
            stop.as_mut().poll(cx).map(|()| Err(cancelled()))
        })
        .await
    }
}

/// Waits for every request. One that panicked is reported and lost; the others are not.
async fn landed(
    mut requests: JoinSet<Option<Result<(), RequestError>>>,
) -> Vec<Result<(), RequestError>> {
    let mut outcomes = Vec::with_capacity(requests.len());
    while let Some(joined) = requests.join_next().await {
        match joined {
            Ok(outcome) => outcomes.extend(outcome),
            Err(error) => tracing::error!(%error, "a request's task died and left no record"),
        }
    }
    outcomes
}

fn cancelled() -> RequestError {
    RequestError::new(servemark_core::ErrorKind::Cancelled, "the run was stopped")
}

#[derive(Clone)]
struct Observed(Arc<dyn Observer>);

impl std::fmt::Debug for Observed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Observer")
    }
}
