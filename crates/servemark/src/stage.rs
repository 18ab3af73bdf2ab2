//! Everything between the drawn load and the last answer.

use std::sync::Arc;

use servemark_backends::{BackendSpec, WireBackend};
use servemark_client::{ClientError, HttpTransport};
use servemark_core::{ClientCost, Clock, MonotonicClock, RequestError, Stamp};
use servemark_pacer::SystemPacer;
use servemark_plan::BenchPlan;
use servemark_runner::{CostMeter, Runner};
use servemark_schedule::ArrivalSpec;

use crate::audience::News;
use crate::discover::Names;
use crate::draw::Load;
use crate::journal::Journal;
use crate::profiler::Profilers;
use crate::server::{self, Server};
use crate::{ExecuteError, RunContext};

/// All that is on stage while requests are sent.
pub(crate) struct Stage<'a> {
    pub(crate) plan: &'a BenchPlan,
    pub(crate) context: &'a RunContext,
    pub(crate) server: &'a Server,
    pub(crate) names: &'a Names,
    pub(crate) load: &'a Load,
}

/// What is known when the last answer is in.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// What it cost the client.
    pub(crate) cost: ClientCost,
    /// When it was.
    pub(crate) ended: Stamp,
}

type Transport = Arc<HttpTransport<WireBackend>>;

impl Stage<'_> {
    /// Warm-up and measurement.
    pub(crate) async fn perform(
        &self,
        clock: MonotonicClock,
        journal: &Journal,
    ) -> Result<Measured, ExecuteError> {
        let backend = self.wire().build();
        let transport = Arc::new(HttpTransport::new(self.server.target.clone(), backend, clock));
        let pacer = SystemPacer::new(clock).map_err(ExecuteError::Machine)?;
        let stop = self.context.stop.signal();
        let runner = Runner::new(pacer, &self.plan.load, journal.observer(), stop);
        let profile = self.plan.control.profile.as_ref();
        let profilers = Profilers::reach(profile, self.context, self.server, clock)?;
        self.context.unless_stopped(self.set(&runner, &transport, &profilers)).await?;
        let cost = self.measure(clock, &runner, &transport).await;
        let ended = clock.now();
        profilers.stop().await;
        Ok(Measured { cost, ended })
    }

    /// The route for the model that is served. How long the prompt of a later turn is, only the
    /// server knows, so it is asked.
    fn wire(&self) -> BackendSpec {
        let wire = self.plan.wire.clone().with_model(self.names.served.clone());
        if self.load.converses() { wire.with_usage() } else { wire }
    }

    /// Everything between the drawn load and the first measured request.
    async fn set(
        &self,
        runner: &Runner<SystemPacer>,
        transport: &Transport,
        profilers: &Profilers<'_>,
    ) -> Result<(), ExecuteError> {
        self.warm_up(runner, transport).await?;
        self.flush_cache().await?;
        runner.wait(self.plan.control.settle).await;
        profilers.start().await;
        if let Some(connections) = server::connections(self.plan) {
            let opened = transport.preconnect(connections).await;
            self.missed("open connections ahead of the measurement", &opened);
        }
        self.server.take_truth();
        Ok(())
    }

    async fn warm_up(
        &self,
        runner: &Runner<SystemPacer>,
        transport: &Transport,
    ) -> Result<(), ExecuteError> {
        let warmup = self.plan.load.warmup;
        let requests = warmup.requests;
        if requests == 0 {
            return Ok(());
        }
        self.context.tell(&News::WarmingUp { requests });
        let outcomes = runner.warm_up(transport, &self.load.warm_up(self.plan), warmup).await;
        let mut errors: Vec<RequestError> = outcomes.into_iter().filter_map(Result::err).collect();
        let failed = errors.len();
        match errors.pop() {
            Some(error) if failed == requests => Err(ExecuteError::Warmup(error)),
            _ => {
                self.context.tell(&News::WarmedUp { requests, failed });
                Ok(())
            }
        }
    }

    async fn flush_cache(&self) -> Result<(), ExecuteError> {
        let Some(timeout) = self.plan.control.flush_cache else { return Ok(()) };
        let route = self.plan.backend.flush_path(timeout);
        self.server.control.flush_cache(&route).await.map_err(ExecuteError::Flush)?;
        self.context.tell(&News::CacheFlushed);
        Ok(())
    }

    async fn measure(
        &self,
        clock: MonotonicClock,
        runner: &Runner<SystemPacer>,
        transport: &Transport,
    ) -> ClientCost {
        let Load { sessions, schedule } = self.load;
        if let ArrivalSpec::Trace { slowdown } = self.plan.load.arrivals {
            let (dataset, slowdown) = (&self.plan.workload.dataset, slowdown.factor());
            self.context.tell(&News::Replaying { dataset, sessions: sessions.len(), slowdown });
        }
        self.context.tell(&News::Measuring { requests: self.load.requests() });
        self.context.live.measure(true);
        let meter = CostMeter::start(&clock);
        runner.measure(transport, sessions, schedule).await;
        let cost = meter.stop(&clock);
        self.context.live.measure(false);
        self.context.tell(&News::Measured);
        cost
    }

    /// Tells of something that the run can do without. Says whether it worked.
    fn missed(&self, what: &'static str, done: &Result<(), ClientError>) -> bool {
        if let Err(error) = done {
            self.context.tell(&News::Missed { what, reason: error.to_string() });
        }
        done.is_ok()
    }
}
