//! Measures one load of an exploration.

use std::num::NonZeroUsize;
use std::time::Duration;

use servemark_datasets::{DatasetSpec, ProvidedDatasetSpec};
use servemark_metrics::{MetricPolicy, Metrics, PlateauSpec, SloVerdict};
use servemark_plan::{
    BenchPlan, MetricsSource, OutputSpec, ServerSpec, SloSpec, TelemetrySpec, WorkloadSpec,
};
use servemark_runner::{LoadSpec, WarmupSpec};
use servemark_schedule::ArrivalSpec;

use super::passages::{self, Passages};
use super::{ExploreSpec, ExploredServer, LevelFigures};
use crate::{ExecuteError, Run, RunContext, Scores, execute};

/// Purpose of a load.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Role {
    /// A single request that checks whether the server answers.
    First,
    /// A load of the climb.
    Climb,
    /// The best load, measured for longer.
    Best,
}

/// A number of streams that is kept up for some time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Load {
    pub(super) role: Role,
    pub(super) streams: usize,
    pub(super) lasts: Duration,
    /// Number of requests that are drawn: more than are expected to be sent.
    pub(super) requests: usize,
}

/// A measured load.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) plan: BenchPlan,
    pub(super) run: Run,
    pub(super) figures: LevelFigures,
}

impl Level {
    pub(super) fn measure(
        load: &Load,
        spec: &ExploreSpec,
        server: &ExploredServer,
        context: &RunContext,
    ) -> Result<Self, ExecuteError> {
        let plan = plan_of(load, spec, server);
        let run = execute(&plan, context)?;
        let figures = figures(load, &plan, &run);
        Ok(Self { plan, run, figures })
    }
}

/// Returns the plan of a load.
pub(super) fn plan_of(load: &Load, spec: &ExploreSpec, server: &ExploredServer) -> BenchPlan {
    let dataset = DatasetSpec::Provided(ProvidedDatasetSpec::new(passages::NAME));
    let mut workload = WorkloadSpec::new(dataset, load.requests);
    // Each load has prompts of its own, so that none is in a prefix cache.
    workload.seed = spec.seed.wrapping_add(seed_of(load));
    let mut sending = LoadSpec::new(ArrivalSpec::Burst);
    sending.max_concurrency = NonZeroUsize::new(load.streams);
    sending.lasts = (load.role != Role::First).then_some(load.lasts);
    sending.warmup = WarmupSpec::of(0);
    let mut plan = BenchPlan::new(
        ServerSpec::At(spec.target.clone()),
        server.backend(),
        server.wire(spec.output_tokens),
        workload,
        sending,
    );
    plan.control.ready_timeout = Duration::ZERO;
    // Streams have the server's times beside the counts.
    plan.control.server_times = server.asks_usage;
    plan.control.telemetry = telemetry_of(load, spec, server);
    plan.model.name = Some(server.model.clone());
    plan.model.untokenized = server.reports_usage || load.role == Role::First;
    plan.model.bundled_tokenizer = !plan.model.untokenized;
    plan.scoring.plateau = Some(PlateauSpec::default());
    let objectives = spec.objectives.iter().copied();
    plan.scoring.slo = (!spec.objectives.is_empty()).then(|| SloSpec::new(objectives));
    plan.output.run_log = spec.folder.as_ref().and_then(|folder| match load.role {
        Role::First => None,
        Role::Climb => Some(folder.join(format!("streams-{}.runlog.jsonl", load.streams))),
        Role::Best => Some(folder.join(OutputSpec::RUN_LOG)),
    });
    plan
}

/// Returns what is read beside the load: the server's metrics, and the GPUs of a server on this
/// machine.
fn telemetry_of(load: &Load, spec: &ExploreSpec, server: &ExploredServer) -> Option<TelemetrySpec> {
    let metrics = server.shows_metrics.then_some(MetricsSource::Server);
    let reads_gpus = cfg!(feature = "nvml") && spec.target.base_url.is_this_machine();
    let gpus = reads_gpus.then_some(MetricsSource::NvmlIfPresent);
    let sources: Vec<MetricsSource> = metrics.into_iter().chain(gpus).collect();
    let interval = (load.lasts / READINGS).clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL);
    (!sources.is_empty()).then(|| TelemetrySpec { interval, ..TelemetrySpec::new(sources) })
}

/// Number of readings of the server's metrics in the time that a load lasts.
const READINGS: u32 = 20;

/// Shortest time from one reading to the next.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);

/// Longest time from one reading to the next.
const LONGEST_INTERVAL: Duration = Duration::from_secs(1);

/// Returns the context with the data set of the prompts.
pub(super) fn with_passages(context: &RunContext, spec: &ExploreSpec) -> RunContext {
    let mut context = context.clone();
    let passages = Passages { words: spec.prompt_words, output_tokens: spec.output_tokens };
    context.parts.add_dataset(passages::NAME, passages);
    context
}

fn seed_of(load: &Load) -> u32 {
    let streams = u32::try_from(load.streams).unwrap_or(u32::MAX).wrapping_mul(4);
    match load.role {
        Role::First => streams.wrapping_add(2),
        Role::Climb => streams,
        Role::Best => streams.wrapping_add(1),
    }
}

fn figures(load: &Load, plan: &BenchPlan, run: &Run) -> LevelFigures {
    let scores = Scores::of_run(run, &plan.scoring);
    let mut policy = MetricPolicy::native();
    policy.plateau = plan.scoring.plateau;
    let metrics = Metrics::score(&run.log, &policy);
    let latencies = &metrics.latencies;
    let tokens_per_s = metrics.plateau.as_ref().map(|plateau| plateau.output_tokens_per_s);
    // Few requests begin and end on the plateau, but each token has its own time.
    let tokens = metrics.tokens.output.unwrap_or_default();
    let answer = tokens as f64 / metrics.requests.completed as f64;
    let requests_per_s = tokens_per_s.map(|rate| rate / answer).filter(|rate| rate.is_finite());
    LevelFigures {
        streams: load.streams,
        is_best: load.role == Role::Best,
        took: Duration::from_secs_f64(metrics.duration_s.max(0.0)),
        requests: metrics.requests.completed,
        failed: metrics.requests.failed,
        requests_per_s: requests_per_s.or(metrics.throughput.requests_per_s),
        output_tokens_per_s: tokens_per_s.or(metrics.throughput.output_tokens_per_s),
        ttft_ms: latencies.ttft.mean_ms,
        ttft_p50_ms: latencies.ttft.median_ms,
        ttft_p99_ms: latencies.ttft.percentile_ms(99.0),
        tpot_ms: latencies.tpot.mean_ms,
        e2el_ms: latencies.e2el.mean_ms,
        slo: verdict_of(&scores),
        client: run.audit.verdict,
        run_log: run.run_log.clone(),
    }
}

/// Returns the worst verdict on an objective; absent without objectives.
fn verdict_of(scores: &Scores<'_>) -> Option<SloVerdict> {
    scores.judgements().iter().map(|judgement| judgement.verdict).max()
}
