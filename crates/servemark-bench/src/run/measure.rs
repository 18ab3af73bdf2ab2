//! Measures a prepared run, from the open run log to the closed one.

use std::num::NonZeroUsize;
use std::time::Duration;

use servemark_core::{Clock, Footer};
use servemark_plan::BenchPlan;
use servemark_runner::{self as runner, Fleet, StartBarrier, Stop};

use super::draw::Load;
use super::finish;
use super::outcome::Run;
use super::prepare::{PreparedRun, RunClock};
use super::ranked::{self, RankedRun};
use super::run_log_sink::{AnswerDecoder, ClosedRunLog, MemoryLimits, RecordSteps, RunLogSink};
use super::shared_prefixes;
use super::system::{Job, System};
use super::until::{RunStop, Watcher};
use crate::observer::{Activity, RunEvent};
use crate::{ExecuteError, RunContext};

/// Measures a drawn load and closes the run log.
pub(crate) async fn measure<S: System>(
    system: &S,
    plan: &BenchPlan,
    context: &RunContext,
    prepared: &PreparedRun,
    clock: RunClock,
    ranked: Option<&RankedRun>,
) -> Result<Run, ExecuteError> {
    let stop = RunStop::of(plan, context);
    let job = Job { plan, context, clock, prepared, stop: stop.signal(), ranked };
    let mut header = system.header(&job).await?;
    if let Some(ranked) = ranked {
        ranked.describe(&mut header, &prepared.load);
    }
    let deferred = context.parts.deferred(&plan.wire)?;
    let decoder = deferred.map(|backend| AnswerDecoder::new(backend, context));
    let watcher = Watcher::of(plan, &prepared.load, &header.facts, &stop);
    let limits = MemoryLimits::of(plan);
    let sink =
        RunLogSink::open(&plan.output, header, context, limits, RecordSteps { decoder, watcher })?;
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
        let barrier = self.ranked.map(|ranked| ranked.barrier(self.stop.clone(), sink.starts()));
        let common_start = barrier.as_ref().map(|barrier| barrier as &dyn StartBarrier);
        let fleet = Fleet::new(&runner, shards).with_barrier(common_start);
        let enlist = system.shard_factory(self, &transport);
        let measuring = fleet.measure(&transport, sessions, schedule, enlist);
        let measured = system.run_beside(self, &transport, measuring).await;
        let ended = clock.now();
        context.live.end_measurement();
        context.emit(&RunEvent::Measured);
        drop(barrier);
        let rank_clock = match self.ranked.filter(|_| measured.is_ok()) {
            Some(ranked) => ranked.drained().await,
            None => None,
        };
        let mut footer = system.end(self, helpers, &transport).await;
        let runner::Measured { cost, lost, started: began, .. } =
            measured.map_err(ranked::not_started)?;
        for share in &lost {
            context.emit(&RunEvent::ShardLost { shard: share.shard() });
        }
        footer.began = Some(began);
        footer.ended = ended;
        footer.rank_clock = rank_clock;
        footer.client = Some(cost);
        footer.interrupted |= context.stop.signal().is(Stop::Drain) || !lost.is_empty();
        let mut audited = Vec::new();
        if !footer.interrupted {
            let in_flight = mean_in_flight(context.live.busy(), ended.since(began));
            context.live.turn_to(Activity::Measuring);
            audited = system.audit_cache(self, &transport, sink, in_flight).await?;
            context.live.turn_to(Activity::Reporting);
        }
        footer.shared_prefixes =
            shared_prefixes::planned(self.plan.workload.dataset.label(), sessions, &audited);
        Ok(Measured { footer, lost_shards: lost.len() })
    }
}

/// Returns the mean number of requests in flight over a span; `busy` is the sum of their times in
/// flight.
fn mean_in_flight(busy: Duration, span: Duration) -> NonZeroUsize {
    let span = span.as_nanos().max(1);
    let mean = (busy.as_nanos() + span / 2) / span;
    usize::try_from(mean).ok().and_then(NonZeroUsize::new).unwrap_or(NonZeroUsize::MIN)
}
