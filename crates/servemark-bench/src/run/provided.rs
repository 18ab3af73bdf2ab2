//! Measures over a transport that the program supplies.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;

use servemark_core::{Footer, Header};
use servemark_pacer::SystemPacer;
use servemark_plan::{BenchPlan, ServerSpec};
use servemark_runner::{Runner, Share};

use super::prepare::{Numbering, PreparedRun, RunClock, prepare};
use super::run_log_sink::RunLogSink;
use super::system::{Job, System};
use super::{discover, facts, warm_up};
use crate::observer::RunEvent;
use crate::parts::ProvidedTransport;
use crate::{ExecuteError, RunContext};

/// The system that is reached by a transport that the program supplies.
pub(super) struct ProvidedSystem {
    name: String,
    transport: Arc<ProvidedTransport>,
}

impl System for ProvidedSystem {
    type Transport = ProvidedTransport;
    type Helpers<'a> = ();

    async fn prepare(
        plan: &BenchPlan,
        context: &RunContext,
        clock: RunClock,
    ) -> Result<(Self, PreparedRun), ExecuteError> {
        let ServerSpec::Provided { name } = &plan.server else {
            unreachable!("only a plan with a transport of the program is measured here")
        };
        let transport = Arc::new(context.parts.transport(name, clock.clock)?);
        let names = discover::of_plan(plan);
        let (prepared, _) = prepare(plan, None, context, names, Numbering::Plain, clock).await?;
        Ok((Self { name: name.clone(), transport }, prepared))
    }

    async fn header(&self, job: &Job<'_>) -> Result<Header, ExecuteError> {
        let PreparedRun { names, load, .. } = job.prepared;
        let started = job.clock.started_unix_ns;
        Ok(facts::transport_header(started, job.plan, &self.name, names, load))
    }

    fn transport(&self, _job: &Job<'_>) -> Result<Arc<ProvidedTransport>, ExecuteError> {
        Ok(Arc::clone(&self.transport))
    }

    fn shards(&self, job: &Job<'_>) -> NonZeroUsize {
        let cores = available_parallelism().unwrap_or(NonZeroUsize::MIN);
        job.plan.load.shards_of(job.share(), job.load().sessions.len(), cores)
    }

    fn shard_factory(
        &self,
        job: &Job<'_>,
        transport: &Arc<ProvidedTransport>,
    ) -> impl AsyncFn(Share) -> io::Result<(SystemPacer, Arc<ProvidedTransport>)> + Send + Sync + 'static
    {
        let (clock, transport) = (job.clock.clock, Arc::clone(transport));
        async move |_share| Ok((SystemPacer::new(clock)?, Arc::clone(&transport)))
    }

    async fn begin(
        &self,
        job: &Job<'_>,
        runner: &Runner,
        transport: &Arc<ProvidedTransport>,
        _sink: &RunLogSink,
    ) -> Result<(), ExecuteError> {
        let ready = async {
            job.context.emit(&RunEvent::Prepared);
            warm_up::send_requests(job, runner, transport).await?;
            runner.wait(job.plan.control.settle).await;
            Ok(())
        };
        job.context.unless_stopped(ready).await?;
        job.context.emit(&RunEvent::Starting);
        Ok(())
    }

    async fn end(
        &self,
        _job: &Job<'_>,
        (): Self::Helpers<'_>,
        _transport: &ProvidedTransport,
    ) -> Footer {
        Footer::default()
    }
}
