//! A run on several threads.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use servemark_core::{ClientCost, Clock, Phase, RequestError, Session, Stamp, Transport};
use servemark_pacer::Pacer;
use servemark_schedule::Schedule;
use tokio::sync::oneshot;

use crate::cost::nanos;
use crate::erased::AnyTransport;
use crate::run_state::RunState;
use crate::runner::{SendResult, Work};
use crate::start::{Follower, Start, StartBarrier, together};
use crate::{Backlog, Runner, Share, Stop};

/// A run on several threads, each with a [`Runner`] of its own: the first on the calling thread,
/// the others on threads with a current-thread runtime that exist as long as the measurement.
///
/// Session `i` belongs to shard `i mod n` from its first request to its last. The shards share only
/// the gate, which stays one FIFO limit; the stop signal; the observer; and the start, which is set
/// when every shard is ready. All due times count from the start, so the due time of a request does
/// not depend on the number of shards.
///
/// ```
/// use std::num::NonZeroUsize;
/// use std::sync::Arc;
///
/// use servemark_core::{
///     Finish, MonotonicClock, Recorder, RequestError, Sample, Session, Transport,
/// };
/// use servemark_pacer::SystemPacer;
/// use servemark_runner::{Collector, Fleet, LoadSpec, Runner, StopHandle};
/// use servemark_schedule::{ArrivalSpec, Schedule};
///
/// /// Answers every request at once with nothing.
/// struct Silent;
///
/// impl Transport for Silent {
///     type Prepared = ();
///
///     fn prepare(&self, _sample: &Sample) -> Result<(), RequestError> {
///         Ok(())
///     }
///
///     async fn execute(&self, (): (), _to: &mut Recorder) -> Result<Finish, RequestError> {
///         Ok(Finish::default())
///     }
/// }
///
/// # async fn bench() -> std::io::Result<()> {
/// let (clock, transport) = (MonotonicClock::start(), Arc::new(Silent));
/// let (records, stop) = (Arc::new(Collector::default()), StopHandle::new());
/// let load = LoadSpec::new(ArrivalSpec::Burst);
/// let lead = Runner::new(SystemPacer::new(clock)?, &load, records.clone(), stop.signal());
///
/// let sessions: Arc<[Session]> = vec![Session::from(Sample::new("hi", 1, 1)); 100].into();
/// let fleet = Fleet::new(&lead, NonZeroUsize::new(2).unwrap());
/// // Every other shard has its own timer and connections, created on its own thread.
/// let enlist = async move |_share| Ok((SystemPacer::new(clock)?, Arc::new(Silent)));
/// let measured =
///     fleet.measure(&transport, &sessions, &Schedule::burst(sessions.len()), enlist).await?;
/// assert_eq!((records.take().len(), measured.cost.shards.len()), (100, 2));
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(bench())?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Fleet<'a> {
    lead: &'a Runner,
    shards: NonZeroUsize,
    barrier: Option<&'a dyn StartBarrier>,
}

/// The result of a measurement.
#[derive(Debug)]
pub struct Measured {
    /// How each request that was sent ended.
    pub outcomes: Vec<Result<(), RequestError>>,
    /// The instant from which all due times counted.
    pub started: Stamp,
    /// Resources that the sending and reading threads used.
    pub cost: ClientCost,
    /// The shards whose threads died. Their requests in flight and those still to be sent have no
    /// records.
    pub lost: Vec<Share>,
}

impl<'a> Fleet<'a> {
    /// Creates a fleet of `shards` runners: `lead` and others that follow it. If `shards` is 1,
    /// `lead` runs alone.
    pub fn new(lead: &'a Runner, shards: NonZeroUsize) -> Self {
        Self { lead, shards, barrier: None }
    }

    /// Starts together with other processes, when `barrier` says; alone without one.
    #[must_use]
    pub fn with_barrier(self, barrier: Option<&'a dyn StartBarrier>) -> Self {
        Self { barrier, ..self }
    }

    /// Measures as [`Runner::measure`] does, with all shards. `transport` belongs to the first
    /// shard; `enlist` creates the pacer and the transport of every other shard on its own thread,
    /// and opens connections ahead if the plan asks for them. All pacers must use one clock.
    ///
    /// Returns an error, before anything is sent, if the system refuses a thread or `enlist` fails.
    /// If a thread dies later, its requests are lost and the other shards continue.
    ///
    /// Dropping the future abandons the requests of all shards, without records.
    pub async fn measure<P, T, F>(
        &self,
        transport: &Arc<T>,
        sessions: &Arc<[Session]>,
        schedule: &Schedule,
        enlist: F,
    ) -> io::Result<Measured>
    where
        P: Pacer,
        T: Transport,
        F: AsyncFn(Share) -> io::Result<(P, Arc<T>)> + Send + Sync + 'static,
    {
        let (mut leader, follower) = together();
        let common = Arc::new(Common {
            enlist,
            state: self.lead.state().clone(),
            sessions: Arc::clone(sessions),
            schedule: schedule.clone(),
        });
        let whole = self.lead.state().share;
        let others = whole.among(self.shards).skip(1);
        let others = others.map(|share| common.follow(share, follower.clone()));
        let others = others.collect::<io::Result<Vec<Other>>>()?;
        drop(follower);
        let start = match others.as_slice() {
            [] => Start::Alone(self.barrier),
            _ => Start::Leading(&mut leader, self.barrier),
        };
        let share = whole.first_among(self.shards);
        let transport = Arc::clone(transport) as Arc<dyn AnyTransport>;
        let work = Work { transport, sessions, schedule, share };
        let before = self.log_wait();
        let sent = self.lead.send(Phase::Measure, work, start).await?;
        let mut measured = join(self.lead.clock(), sent, others).await;
        measured.cost.log_wait_ns = nanos(self.log_wait().saturating_sub(before));
        Ok(measured)
    }

    /// Returns how long requests have waited for records to be written.
    fn log_wait(&self) -> Duration {
        self.lead.state().observer.0.backlog().map(Backlog::waited).unwrap_or_default()
    }
}

/// What the threads of all shards but the first share.
struct Common<F> {
    enlist: F,
    state: RunState,
    sessions: Arc<[Session]>,
    schedule: Schedule,
}

/// A shard on a thread of its own. It returns what it sent, or `None` if it did not start.
struct Other {
    share: Share,
    reported: oneshot::Receiver<Option<SendResult>>,
}

impl<F> Common<F> {
    fn follow<P, T>(self: &Arc<Self>, share: Share, follower: Follower) -> io::Result<Other>
    where
        P: Pacer,
        T: Transport,
        F: AsyncFn(Share) -> io::Result<(P, Arc<T>)> + Send + Sync + 'static,
    {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (common, (sender, result)) = (Arc::clone(self), oneshot::channel());
        let work = move || {
            let sent = runtime.block_on(common.take_part(share, follower));
            // The receiver is gone if the run was abandoned.
            let _ = sender.send(sent);
        };
        thread::Builder::new().name(format!("shard-{}", share.shard())).spawn(work)?;
        Ok(Other { share, reported: result })
    }

    async fn take_part<P, T>(&self, share: Share, follower: Follower) -> Option<SendResult>
    where
        P: Pacer,
        T: Transport,
        F: AsyncFn(Share) -> io::Result<(P, Arc<T>)>,
    {
        let abort = follower.abort_signal();
        tokio::select! {
            biased;
            () = abort.abandoned() => None,
            sent = self.send(share, follower) => sent,
        }
    }

    async fn send<P, T>(&self, share: Share, follower: Follower) -> Option<SendResult>
    where
        P: Pacer,
        T: Transport,
        F: AsyncFn(Share) -> io::Result<(P, Arc<T>)>,
    {
        let enlisted = tokio::select! {
            biased;
            () = self.state.stop.reached(Stop::Drain) => return None,
            enlisted = (self.enlist)(share) => enlisted,
        };
        let (pacer, transport) = match enlisted {
            Ok(enlisted) => enlisted,
            Err(error) => {
                follower.fail(error).await;
                return None;
            }
        };
        let runner = Runner::under(pacer, self.state.clone());
        let (sessions, schedule) = (&self.sessions, &self.schedule);
        let work = Work { transport, sessions, schedule, share };
        runner.send(Phase::Measure, work, Start::Following(follower)).await.ok()
    }
}

/// Waits for all other shards and merges what they sent.
async fn join(clock: &dyn Clock, first: SendResult, others: Vec<Other>) -> Measured {
    let SendResult { mut outcomes, cost, start, since } = first;
    let (mut costs, mut lost) = (vec![cost], Vec::new());
    for Other { share, reported: result } in others {
        if let Ok(sent) = result.await {
            let SendResult { outcomes: more, cost, .. } = sent.unwrap_or_default();
            outcomes.extend(more);
            costs.push(cost);
        } else {
            tracing::error!(
                shard = share.shard(),
                "the thread of a shard died; its requests are lost"
            );
            lost.push(share);
        }
    }
    Measured { outcomes, started: start, cost: since.stop(clock, costs), lost }
}
