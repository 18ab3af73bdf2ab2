//! Measures a prepared run, from the open run log to the closed one.

use servemark_core::{Clock, Footer};
use servemark_plan::BenchPlan;
use servemark_runner::{self as runner, Fleet, Stop};

use super::draw::Load;
use super::finish;
use super::outcome::Run;
use super::prepare::{PreparedRun, RunClock};
use super::run_log_sink::{ClosedRunLog, MemoryLimits, RunLogSink};
use super::system::{Job, System};
use super::until::{RunStop, Watcher};
use crate::observer::RunEvent;
use crate::{ExecuteError, RunContext};

/// Measures a drawn load and closes the run log.
pub(crate) async fn measure<S: System>(
    system: &S,
    plan: &BenchPlan,
    context: &RunContext,
    prepared: &PreparedRun,
    clock: RunClock,
) -> Result<Run, ExecuteError> {
    let stop = RunStop::of(plan, context);
    let job = Job { plan, context, clock, prepared, stop: stop.signal() };
    let header = system.header(&job).await?;
    let watcher = Watcher::of(plan, &prepared.load, &header.facts, &stop);
    let limits = MemoryLimits::of(plan);
    let sink = RunLogSink::open(&plan.output, header, context, limits, watcher)?;
    let Measured { mut footer, lost_shards } = job.send(system, &sink).await?;
    let closing = sink.close();
    if let Some(stop) = closing.early_stop {
        context.emit(&RunEvent::KnownEnough { stop });
    }
    footer.early_stop = closing.early_stop;
    if !plan.model.untokenized {
        footer.retokenized = finish::count(context, prepared.tokenizer.as_ref(), &closing);
    }
    system.shut_down(&job).await;
    let ClosedRunLog { log, audit, path: run_log, error: run_log_error } = closing.finish(footer);
    system.check(&job, &log)?;
    Ok(Run { log, audit, run_log, run_log_error, lost_shards, sent: system.sent_requests(&job) })
}

/// Results of the measurement besides its records.
struct Measured {
    footer: Footer,
    /// Number of client threads that died.
    lost_shards: usize,
}

impl Job<'_> {
    /// Sends all requests and waits for the last answer.
    async fn send<S: System>(
        &self,
        system: &S,
        sink: &RunLogSink,
    ) -> Result<Measured, ExecuteError> {
        let (context, clock) = (self.context, self.clock.clock);
        let transport = system.transport(self)?;
        let runner = self.runner(&self.plan.load, sink)?;
        let helpers = system.begin(self, &runner, &transport, sink).await?;
        let Load { sessions, schedule, .. } = self.load();
        let (requests, shards) = (self.load().measured(&self.plan.load), system.shards(self));
        context.emit(&RunEvent::Measuring { requests, shards });
        context.live.begin_measurement();
        let fleet = Fleet::new(&runner, shards);
        let enlist = system.enlist(self, &transport);
        let measuring = fleet.measure(&transport, sessions, schedule, enlist);
        let measured = system.accompany(self, &transport, measuring).await;
        let ended = clock.now();
        context.live.end_measurement();
        context.emit(&RunEvent::Measured);
        let mut footer = system.end(self, helpers, &transport).await;
        let runner::Measured { cost, lost, started: began, .. } =
            measured.map_err(ExecuteError::Machine)?;
        for share in &lost {
            context.emit(&RunEvent::ShardLost { shard: share.shard() });
        }
        footer.began = Some(began);
        footer.ended = ended;
        footer.client = Some(cost);
        footer.interrupted |= context.stop.signal().is(Stop::Drain) || !lost.is_empty();
        Ok(Measured { footer, lost_shards: lost.len() })
    }
}
