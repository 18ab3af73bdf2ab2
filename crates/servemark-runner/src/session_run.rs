//! Runs one session from its first due time to its last record.

use std::borrow::Cow;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use servemark_core::{
    ErrorKind, Finish, Phase, Recorder, RequestError, RequestRecord, Sample, Session, Stamp,
};
use tokio::task::unconstrained;

use crate::Stop;
use crate::alarm::Alarm;
use crate::conversation::{Conversation, Turn};
use crate::erased::{AnyTransport, PreparedResult};
use crate::gate::Pass;
use crate::look_ahead::prepare;
use crate::run_state::RunState;

/// How a request that was sent ended.
pub(crate) type Outcome = Result<(), RequestError>;

/// What the sessions of a phase share.
pub(crate) struct SessionRun {
    pub(crate) transport: Arc<dyn AnyTransport>,
    pub(crate) sessions: Arc<[Session]>,
    pub(crate) phase: Phase,
    pub(crate) alarm: Rc<Alarm>,
    pub(crate) state: RunState,
}

/// A session that the gate has admitted.
pub(crate) struct AdmittedSession {
    /// Position of the session in the plan.
    pub(crate) index: usize,
    /// When the session was due.
    pub(crate) due: Stamp,
    /// The gate's permit, held to the end of the session.
    pub(crate) pass: Pass,
    /// When the permit was granted.
    pub(crate) granted: Stamp,
    /// The prepared first request.
    pub(crate) call: PreparedResult,
}

/// A request that may be sent.
struct Request {
    recorder: Recorder,
    call: PreparedResult,
    /// The sample of a later turn, kept if failed requests are retried.
    sample: Option<Box<Sample>>,
}

impl SessionRun {
    /// Runs a whole session: each turn follows the previous answer. Returns how each request that
    /// was sent ended.
    pub(crate) async fn run(self: Rc<Self>, session: AdmittedSession) -> Vec<Outcome> {
        let AdmittedSession { index, due, pass: _pass, granted, call } = session;
        let session = &self.sessions[index % self.sessions.len()];
        let begun = match session.pause {
            Duration::ZERO => Some((due, granted)),
            pause => Box::pin(self.wait_pause(granted + pause)).await,
        };
        let Some((due, granted)) = begun else { return Vec::new() };
        let mut conversation = Conversation::of(session, self.state.sessions);
        let phase = self.state.phase_of(index, self.phase);
        let recorder = Recorder::new(index, phase, &session.first, due);
        let mut recorder = recorder.of_turn(0, conversation.follow_ups());
        recorder.granted(granted);
        let mut next = Some(Request { recorder, call, sample: None });
        let mut outcomes = Vec::with_capacity(session.turns());
        while let Some(request) = next.take() {
            (0..request.recorder.records()).for_each(|_| self.state.observer.0.started(phase));
            let (record, others) = self.complete(request, session).await;
            let turn = conversation.after(&record);
            outcomes.push(self.report(record));
            outcomes.extend(others.into_iter().map(|record| self.report(record)));
            if let Some(turn) = turn {
                // Boxed, because the state of this wait would enlarge the task of every stream.
                next = Box::pin(self.follow_up(index, turn)).await;
            }
        }
        outcomes
    }

    /// Runs a request to the end of its last try; also returns the records of the other prompts of
    /// a batch. Failed tries before the last have records of their own; a batch has one try.
    async fn complete(
        &self,
        request: Request,
        session: &Session,
    ) -> (RequestRecord, Vec<RequestRecord>) {
        let Request { mut recorder, mut call, sample } = request;
        loop {
            let outcome = self.carry(call, &mut recorder).await;
            let (record, others) = recorder.finish_each(outcome, self.alarm.now());
            if !others.is_empty() || !self.state.retries(&record) {
                return (record, others);
            }
            (recorder, call) = Box::pin(self.again(record, sample.as_deref(), session)).await;
        }
    }

    /// Creates the try after `failed`, and reports the record of `failed`.
    async fn again(
        &self,
        mut failed: RequestRecord,
        request: Option<&Sample>,
        session: &Session,
    ) -> (Recorder, PreparedResult) {
        let planned = request.unwrap_or(&session.first);
        let recorder = Recorder::new(failed.index, failed.phase, planned, failed.scheduled);
        let recorder = recorder.after(&failed);
        failed.phase = Phase::Retried;
        self.state.observer.0.finished(failed);
        let request = request.map(Cow::Borrowed).map_or_else(|| Conversation::opening(session), Ok);
        let call = match request {
            Ok(sample) => prepare(&self.transport, sample.into_owned()).await,
            Err(error) => Err(error),
        };
        (recorder, call)
    }

    /// Waits until the first request of an admitted session is due. Returns when it was due and
    /// when it may be sent; `None` if the run was stopped before.
    async fn wait_pause(&self, due: Stamp) -> Option<(Stamp, Stamp)> {
        Some((due, self.wait(due).await?))
    }

    /// Prepares a later turn and waits until it is due; `None` if the run was stopped before, or
    /// its time is over.
    async fn follow_up(&self, index: usize, turn: Turn<'_>) -> Option<Request> {
        let Turn { number, follow_ups, due, adds, sample } = turn;
        let phase = self.state.phase_of(index, self.phase);
        if phase == Phase::Measure && self.is_over(due) {
            return None;
        }
        let planned = sample.as_ref().unwrap_or(adds);
        let recorder = Recorder::new(index, phase, planned, due);
        let mut recorder = recorder.of_turn(number, follow_ups);
        let kept = sample.as_ref().ok().filter(|_| self.state.may_retry()).cloned().map(Box::new);
        let call = match sample {
            Ok(sample) => prepare(&self.transport, sample).await,
            Err(error) => Err(error),
        };
        recorder.granted(self.wait(due).await?);
        Some(Request { recorder, call, sample: kept })
    }

    /// Waits for a due time. Returns when the request may be sent; `None` if the run was stopped
    /// before.
    async fn wait(&self, due: Stamp) -> Option<Stamp> {
        let due_and_room = async {
            self.alarm.until(due - self.transport.lead()).await;
            self.state.room(self.alarm.clock()).await;
        };
        tokio::select! {
            biased;
            () = self.state.stop.reached(Stop::Drain) => None,
            () = due_and_room => Some(self.alarm.now()),
        }
    }

    /// Returns whether a later turn is due too late to be sent.
    fn is_over(&self, due: Stamp) -> bool {
        !self.state.sessions.runs_out && self.state.deadline.is_past(due)
    }

    fn report(&self, record: RequestRecord) -> Outcome {
        let outcome = record.outcome.as_ref().map(|_| ()).map_err(Clone::clone);
        self.state.observer.0.finished(record);
        outcome
    }

    async fn carry(
        &self,
        call: PreparedResult,
        recorder: &mut Recorder,
    ) -> Result<Finish, RequestError> {
        let mut work = self.transport.send(call?, recorder);
        // Under Tokio's budget a task that has used up its turn would get `Pending` here and would
        // not be woken by a stop.
        let mut stop = pin!(unconstrained(self.state.stop.reached(Stop::Now)));
        let mut requested: Option<Waker> = None;
        poll_fn(|cx| {
            if let Poll::Ready(outcome) = work.as_mut().poll(cx) {
                return Poll::Ready(outcome);
            }
            // This runs once per chunk, so before a stop it is enough to have registered the waker
            // once. Later every poll asks again: a level is set before it wakes its listeners, so a
            // poll between the two must not take that wake-up for the next level's.
            let is_listening = |waker: &Waker| waker.will_wake(cx.waker());
            if self.state.stop.level() == Stop::No && requested.as_ref().is_some_and(is_listening) {
                return Poll::Pending;
            }
            requested = Some(cx.waker().clone());
            stop.as_mut().poll(cx).map(|()| Err(cancelled()))
        })
        .await
    }
}

fn cancelled() -> RequestError {
    RequestError::new(ErrorKind::Cancelled, "the run was stopped")
}
