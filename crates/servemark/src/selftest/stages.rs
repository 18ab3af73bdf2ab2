//! The four loads of a self-test: each is a whole run against the ground-truth server.

use std::num::NonZeroUsize;
use std::time::Duration;

use serde::Serialize;
use servemark_backends::{BackendName, BackendSpec, CommonSpec};
use servemark_core::{ClientCost, NoProgress, RequestRecord, RunLog};
use servemark_datasets::{DatasetSpec, RandomSpec, RangeRatio, Source};
use servemark_metrics::{Audit, MetricPolicy, Metrics, TruthComparison};
use servemark_mock::MockSpec;
use servemark_plan::{BenchPlan, ServerSpec, WorkloadSpec};
use servemark_runner::LoadSpec;
use servemark_schedule::ArrivalSpec;

use super::SelftestSpec;
use crate::audience::News;
use crate::{ExecuteError, Run, RunContext, execute};

/// What was reported of a paced load beside what was true.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Accuracy {
    /// How many answers streamed at once.
    pub streams: usize,
    /// The time between two pieces of an answer, in milliseconds.
    pub itl_ms: f64,
    /// Reported minus true, in milliseconds: mean time to first token.
    pub mean_ttft_error_ms: f64,
    /// The same of its 99th percentile.
    pub p99_ttft_error_ms: f64,
    /// The same of the 99th percentile of the time between two pieces.
    pub p99_itl_error_ms: f64,
    /// What the client did to its own measurement.
    pub audit: Audit,
}

/// What a load costs the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Cost {
    /// How many answers were on their way at once.
    pub streams: usize,
    /// How many were counted of what is counted: pieces or requests.
    pub count: usize,
    /// How many there were each second.
    pub per_second: f64,
    /// The client's CPU time for each, in microseconds.
    pub cpu_us: f64,
}

impl Cost {
    /// How many a core could do in a second that did nothing else.
    pub fn per_core_and_second(&self) -> f64 {
        1e6 / self.cpu_us
    }

    fn of(streams: usize, count: usize, cost: &ClientCost) -> Self {
        let (cpu, wall) = (cost.cpu_ns as f64, cost.wall_ns as f64);
        let count_or_one = count.max(1) as f64;
        Self {
            streams,
            count,
            per_second: count as f64 * 1e9 / wall,
            cpu_us: cpu / 1e3 / count_or_one,
        }
    }
}

/// What every stage needs to know.
pub(super) struct Stages<'a> {
    pub(super) spec: &'a SelftestSpec,
    pub(super) context: &'a RunContext,
    pub(super) server_core: Option<usize>,
}

impl Stages<'_> {
    /// As many streams as were asked for, at the speed of a model.
    pub(super) fn accuracy(&self) -> Result<Accuracy, ExecuteError> {
        let streams = self.spec.streams;
        let run = self.play("accuracy", &self.paced_plan(USUAL_ITL))?;
        let metrics = Metrics::score(&run.log, &MetricPolicy::native());
        let truth = metrics.truth.as_ref();
        let error = |of: fn(&TruthComparison) -> f64| truth.map(of).unwrap_or_default();
        Ok(Accuracy {
            streams,
            itl_ms: USUAL_ITL.as_secs_f64() * 1e3,
            mean_ttft_error_ms: error(|truth| truth.mean_ttft.difference_ms),
            p99_ttft_error_ms: error(|truth| truth.p99_ttft.difference_ms),
            p99_itl_error_ms: error(|truth| truth.p99_itl.map_or(0.0, |itl| itl.difference_ms)),
            audit: run.audit,
        })
    }

    /// The same streams at so many pieces per second that their cost is that of a busy client.
    pub(super) fn paced(&self) -> Result<Cost, ExecuteError> {
        let itl = BUSY * self.spec.streams as u32;
        self.pieces("cost of paced output", &self.paced_plan(itl), self.spec.streams)
    }

    /// Pieces as fast as the server sends them.
    pub(super) fn flood(&self) -> Result<Cost, ExecuteError> {
        let tokens = (self.times(BARE_PIECE) / FEW).max(2);
        let plan = plan(at_once(), FEW, FEW, tokens);
        self.pieces("cost of output without a pause", &plan, FEW)
    }

    /// Requests that are answered with a single token.
    pub(super) fn requests(&self) -> Result<Cost, ExecuteError> {
        let plan = plan(at_once(), FEW, self.times(BARE_REQUEST).max(FEW), 1);
        let log = self.play("cost of requests", &plan)?.log;
        Ok(Cost::of(FEW, successes(&log).count(), &cost(&log)))
    }

    fn pieces(&self, what: &str, plan: &BenchPlan, streams: usize) -> Result<Cost, ExecuteError> {
        let log = self.play(what, plan)?.log;
        let pieces = successes(&log).map(|record| record.deltas.len()).sum();
        Ok(Cost::of(streams, pieces, &cost(&log)))
    }

    fn paced_plan(&self, itl: Duration) -> BenchPlan {
        let streams = self.spec.streams;
        plan(MockSpec::new(FIRST, itl), streams, streams, self.times(itl).max(2))
    }

    /// How often something that takes so long fits into a load's time.
    fn times(&self, each: Duration) -> usize {
        (self.spec.duration.as_nanos() / each.as_nanos().max(1)) as usize
    }

    fn play(&self, what: &str, plan: &BenchPlan) -> Result<Run, ExecuteError> {
        self.context.tell(&News::Testing { what });
        let mut context = RunContext::new(std::sync::Arc::new(NoProgress));
        context.stop = self.context.stop.clone();
        context.simulator_core = self.server_core;
        execute(plan, &context)
    }
}

/// `requests` answers of so many tokens, `streams` at once.
fn plan(mock: MockSpec, streams: usize, requests: usize, tokens: usize) -> BenchPlan {
    let mut random = RandomSpec::default();
    (random.source, random.input_tokens) = (Source::Vocabulary, 16);
    (random.output_tokens, random.range_ratio) = (tokens as u32, RangeRatio::FIXED);
    let workload = WorkloadSpec::new(DatasetSpec::Random(random), requests);
    let mut load = LoadSpec::new(ArrivalSpec::Burst);
    load.max_concurrency = NonZeroUsize::new(streams);
    load.shards = Some(NonZeroUsize::MIN);
    let wire = BackendSpec::new(BackendName::VllmChat, CommonSpec::default());
    BenchPlan::new(ServerSpec::Simulated(mock), BackendName::VllmChat, wire, workload, load)
}

/// A server that waits for nothing.
fn at_once() -> MockSpec {
    MockSpec::new(Duration::ZERO, Duration::ZERO)
}

fn successes(log: &RunLog) -> impl Iterator<Item = &RequestRecord> {
    log.measured().filter(|record| record.is_success())
}

fn cost(log: &RunLog) -> ClientCost {
    log.footer().and_then(|footer| footer.client.clone()).unwrap_or_default()
}

/// A model that serves many at once.
const USUAL_ITL: Duration = Duration::from_millis(20);
const FIRST: Duration = Duration::from_millis(100);

/// The time between two pieces of all streams together that keeps a client busy and a server of
/// one core not yet overloaded.
const BUSY: Duration = Duration::from_nanos(12_500);

/// How many answers are on their way where that does not matter.
const FEW: usize = 64;

/// About what a piece and a request take where nothing is waited for, which makes a load last about
/// as long as it should.
const BARE_PIECE: Duration = Duration::from_nanos(2_500);
const BARE_REQUEST: Duration = Duration::from_micros(33);
