//! The system under test: a server, an engine without a server, or a transport of the program.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;

use servemark_core::{Footer, Header, RunLog, Transport};
use servemark_pacer::SystemPacer;
use servemark_plan::BenchPlan;
use servemark_runner::{LoadSpec, Runner, Share, StopSignal};

use super::SentRequests;
use super::draw::Load;
use super::prepare::{PreparedRun, RunClock};
use super::ranked::RankedRun;
use super::run_log_sink::RunLogSink;
use crate::{ExecuteError, RunContext};

/// The system under test. Every kind of system is measured by the same steps; an implementation
/// adds what only its kind has.
pub(crate) trait System: Sized {
    /// Carries requests to the system.
    type Transport: Transport;

    /// Helpers that work while requests are measured, such as profilers.
    type Helpers<'a>;

    /// Prepares a run until its load is drawn and the system can answer requests.
    async fn prepare(
        plan: &BenchPlan,
        context: &RunContext,
        clock: RunClock,
    ) -> Result<(Self, PreparedRun), ExecuteError>;

    /// Returns the header of the run log.
    async fn header(&self, job: &Job<'_>) -> Result<Header, ExecuteError>;

    /// Creates the transport of the first client thread.
    fn transport(&self, job: &Job<'_>) -> Result<Arc<Self::Transport>, ExecuteError>;

    /// Returns the number of client threads.
    fn shards(&self, job: &Job<'_>) -> NonZeroUsize;

    /// Returns a function that creates the pacer and the transport of an additional client thread.
    fn shard_factory(
        &self,
        job: &Job<'_>,
        transport: &Arc<Self::Transport>,
    ) -> impl AsyncFn(Share) -> io::Result<(SystemPacer, Arc<Self::Transport>)> + Send + Sync + 'static;

    /// Does everything between the open run log and the first measured request, such as the
    /// warm-up.
    async fn begin<'a>(
        &self,
        job: &Job<'a>,
        runner: &Runner,
        transport: &Arc<Self::Transport>,
        sink: &RunLogSink,
    ) -> Result<Self::Helpers<'a>, ExecuteError>;

    /// Awaits the measurement.
    async fn run_beside<T>(
        &self,
        job: &Job<'_>,
        transport: &Self::Transport,
        measuring: impl Future<Output = T>,
    ) -> T {
        let _ = (job, transport);
        measuring.await
    }

    /// Stops the helpers, and returns what the system reports of the measurement.
    async fn end(
        &self,
        job: &Job<'_>,
        helpers: Self::Helpers<'_>,
        transport: &Self::Transport,
    ) -> Footer;

    /// Audits the system's prefix cache after the measurement, which had about `in_flight` requests
    /// in flight, if the plan asks for it. Returns the positions of the sessions whose prompts were
    /// audited.
    async fn audit_cache(
        &self,
        job: &Job<'_>,
        transport: &Arc<Self::Transport>,
        sink: &RunLogSink,
        in_flight: NonZeroUsize,
    ) -> Result<Vec<usize>, ExecuteError> {
        let _ = (job, transport, sink, in_flight);
        Ok(Vec::new())
    }

    /// Shuts the system down if the run started it.
    async fn shut_down(&self, job: &Job<'_>) {
        let _ = job;
    }

    /// Fails if a closed log shows that the system was lost before any request succeeded.
    fn check(&self, job: &Job<'_>, log: &RunLog) -> Result<(), ExecuteError> {
        let _ = (job, log);
        Ok(())
    }

    /// Returns the sent requests, from which their bodies can be reconstructed.
    fn sent_requests(&self, job: &Job<'_>) -> Option<SentRequests> {
        let _ = job;
        None
    }
}

/// A prepared run.
pub(crate) struct Job<'a> {
    pub(crate) plan: &'a BenchPlan,
    pub(crate) context: &'a RunContext,
    pub(crate) clock: RunClock,
    pub(crate) prepared: &'a PreparedRun,
    /// Signal that stops the run.
    pub(crate) stop: StopSignal,
    /// This process's part in the run, if it shares the run with others.
    pub(crate) ranked: Option<&'a RankedRun>,
}

impl<'a> Job<'a> {
    pub(crate) fn load(&self) -> &'a Load {
        &self.prepared.load
    }

    /// Returns the part of the sessions that belongs to this process.
    pub(crate) fn share(&self) -> Share {
        self.ranked.map_or(Share::WHOLE, RankedRun::share)
    }

    /// Creates a runner of a load with the job's clock and stop signal.
    pub(crate) fn runner(
        &self,
        load: &LoadSpec,
        sink: &RunLogSink,
    ) -> Result<Runner, ExecuteError> {
        let part = (self.share(), self.ranked.and_then(RankedRun::places));
        let pacer = SystemPacer::new(self.clock.clock).map_err(ExecuteError::Machine)?;
        Ok(Runner::of_share(pacer, load, part, sink.observer(), self.stop.clone()))
    }
}
