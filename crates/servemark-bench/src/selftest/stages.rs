//! The four loads of a self-test, each of them a complete run against the ground-truth server.

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
use crate::observer::RunEvent;
use crate::{ExecuteError, Run, RunContext, execute};

/// Difference between the reported and the true latencies of a paced load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Accuracy {
    /// Number of concurrent answers.
    pub streams: usize,
    /// Time between two chunks of an answer, in milliseconds.
    pub itl_ms: f64,
    /// Reported minus true mean time to first token, in milliseconds.
    pub mean_ttft_error_ms: f64,
    /// Reported minus true 99th percentile of the time to first token, in milliseconds.
    pub p99_ttft_error_ms: f64,
    /// Reported minus true 99th percentile of the inter-token latency, in milliseconds.
    pub p99_itl_error_ms: f64,
    /// Audit of the client's effect on the measurement.
    pub audit: Audit,
}

/// Cost of a load for the client, per chunk or per request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Number of concurrent answers.
    pub streams: usize,
    /// Number of chunks or requests.
    pub count: usize,
    /// Chunks or requests per second of wall-clock time.
    pub per_second: f64,
    /// CPU time of the client per chunk or request, in microseconds.
    pub cpu_us: f64,
}

impl Cost {
    /// Returns the number of chunks or requests that one fully used core could handle per second.
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

/// Inputs of all loads.
pub(super) struct Stages<'a> {
    pub(super) spec: &'a SelftestSpec,
    pub(super) context: &'a RunContext,
    pub(super) server_core: Option<usize>,
}

impl Stages<'_> {
    /// Measures the accuracy with the requested number of streams at the usual speed of a model.
    pub(super) fn accuracy(&self) -> Result<Accuracy, ExecuteError> {
        let streams = self.spec.streams;
        let run = self.run_plan("accuracy", &self.paced_plan(USUAL_ITL))?;
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

    /// Measures the cost of chunks with the requested number of streams, at a chunk rate that
    /// keeps the client busy.
    pub(super) fn paced(&self) -> Result<Cost, ExecuteError> {
        let itl = BUSY * self.spec.streams as u32;
        self.pieces("cost of paced output", &self.paced_plan(itl), self.spec.streams)
    }

    /// Measures the cost of chunks that the server sends as fast as it can.
    pub(super) fn measure_chunks(&self) -> Result<Cost, ExecuteError> {
        let tokens = (self.times(BARE_PIECE) / FEW).max(2);
        let plan = plan(at_once(), FEW, FEW, tokens);
        self.pieces("cost of output without a pause", &plan, FEW)
    }

    /// Measures the cost of requests that are answered with a single token.
    pub(super) fn requests(&self) -> Result<Cost, ExecuteError> {
        let plan = plan(at_once(), FEW, self.times(BARE_REQUEST).max(FEW), 1);
        let log = self.run_plan("cost of requests", &plan)?.log;
        Ok(Cost::of(FEW, successes(&log).count(), &cost(&log)))
    }

    fn pieces(&self, what: &str, plan: &BenchPlan, streams: usize) -> Result<Cost, ExecuteError> {
        let log = self.run_plan(what, plan)?.log;
        let pieces = successes(&log).map(|record| record.deltas.len()).sum();
        Ok(Cost::of(streams, pieces, &cost(&log)))
    }

    fn paced_plan(&self, itl: Duration) -> BenchPlan {
        let streams = self.spec.streams;
        plan(MockSpec::new(FIRST, itl), streams, streams, self.times(itl).max(2))
    }

    /// Returns how many times `each` fits into the duration of a load.
    fn times(&self, each: Duration) -> usize {
        (self.spec.duration.as_nanos() / each.as_nanos().max(1)) as usize
    }

    fn run_plan(&self, what: &str, plan: &BenchPlan) -> Result<Run, ExecuteError> {
        self.context.emit(&RunEvent::Testing { what });
        let mut context = RunContext::new(std::sync::Arc::new(NoProgress));
        context.stop = self.context.stop.clone();
        context.simulator_core = self.server_core;
        execute(plan, &context)
    }
}

/// Returns a plan of `requests` requests for `tokens` tokens each, with at most `streams` in
/// flight.
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

/// Returns a server that answers without delay.
fn at_once() -> MockSpec {
    MockSpec::new(Duration::ZERO, Duration::ZERO)
}

fn successes(log: &RunLog) -> impl Iterator<Item = &RequestRecord> {
    log.measured().filter(|record| record.is_success())
}

fn cost(log: &RunLog) -> ClientCost {
    log.footer().and_then(|footer| footer.client.clone()).unwrap_or_default()
}

/// Inter-token latency of a model that serves many streams at once.
const USUAL_ITL: Duration = Duration::from_millis(20);
/// Time to first token of a model that serves many streams at once.
const FIRST: Duration = Duration::from_millis(100);

/// Time between two chunks of all streams together that keeps a client busy and does not yet
/// overload a server of one core.
const BUSY: Duration = Duration::from_nanos(12_500);

/// Number of requests in flight for loads on which this number has no effect.
const FEW: usize = 64;

/// Approximate CPU time of a chunk, without waiting; used to choose the size of a load.
const BARE_PIECE: Duration = Duration::from_nanos(2_500);
/// Approximate CPU time of a request, without waiting; used to choose the size of a load.
const BARE_REQUEST: Duration = Duration::from_micros(33);
