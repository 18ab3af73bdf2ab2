//! Scripted bottlenecks of the simulator, named by the report, and its prefix cache.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use servemark::backends::BackendName;
use servemark::client::TargetSpec;
use servemark::core::{NoProgress, RunLog};
use servemark::datasets::{DatasetSpec, RandomSpec, RangeRatio};
use servemark::metrics::{Contamination, ContaminationSource, Limit, LimitCause};
use servemark::mock::{MockServer, MockSpec};
use servemark::plan::{BenchPlan, MetricsSource, ServerSpec, TelemetrySpec};
use servemark::schedule::ArrivalSpec;
use servemark::tokenizer::TokenizerSpec;
use servemark::{RunContext, Scores, execute};
use servemark_testkit::{ExporterAnswer, ScriptedExporter};

use crate::runs::{TOKENIZER, plan};

/// Returns a plan of twenty requests that are all due at once, for a server that is read often.
fn watched(mock: MockSpec) -> BenchPlan {
    watched_by(BackendName::Sglang, mock)
}

fn watched_by(backend: BackendName, mock: MockSpec) -> BenchPlan {
    let mut plan = plan(backend, &[]);
    plan.server = ServerSpec::Simulated(mock);
    let mut telemetry = TelemetrySpec::of_server();
    telemetry.interval = Duration::from_millis(20);
    plan.control.telemetry = Some(telemetry);
    plan.model.tokenizer = Some(TokenizerSpec::new(TOKENIZER));
    plan
}

fn log(plan: &BenchPlan) -> RunLog {
    execute(plan, &RunContext::new(Arc::new(NoProgress))).unwrap().log
}

fn limits(plan: &BenchPlan) -> Vec<Limit> {
    let log = log(plan);
    Limit::of(&log, Scores::of(&log, &plan.scoring).audit())
}

/// Checks the first cause of a run against a changed simulator.
#[track_caller]
fn is_limited_by(cause: LimitCause, change: impl FnOnce(&mut MockSpec, &mut BenchPlan)) {
    let mut mock = MockSpec::new(Duration::from_millis(2), Duration::from_micros(100));
    let mut plan = watched(MockSpec::default());
    change(&mut mock, &mut plan);
    plan.server = ServerSpec::Simulated(mock);
    let limits = limits(&plan);
    // A busy machine limits the client besides.
    let is_scripted = |limit: &&Limit| limit.cause != LimitCause::Client || cause == limit.cause;
    let first = limits.iter().find(is_scripted);
    assert_eq!(first.map(|limit| limit.cause), Some(cause), "{limits:?}");
}

fn random(plan: &mut BenchPlan) -> &mut RandomSpec {
    match &mut plan.workload.dataset {
        DatasetSpec::Random(random) => random,
        other => panic!("{other:?}"),
    }
}

const MS: fn(u64) -> Duration = Duration::from_millis;

#[test]
fn few_places() {
    is_limited_by(LimitCause::Queue, |mock, _| {
        mock.ttft = MS(30);
        mock.places = NonZeroUsize::new(2);
    });
}

#[test]
fn more_arrivals_than_are_served() {
    is_limited_by(LimitCause::Queue, |mock, plan| {
        mock.ttft = MS(20);
        mock.places = NonZeroUsize::MIN.into();
        plan.load.arrivals = ArrivalSpec::at_rate(200.0).unwrap();
    });
}

/// A request of 16 prompt and 8 output tokens takes two blocks of 16.
#[test]
fn a_small_memory_for_keys_and_values() {
    is_limited_by(LimitCause::QueueKvCache, |mock, _| {
        mock.ttft = MS(60);
        mock.kv_blocks = NonZeroUsize::new(4);
    });
}

/// Two requests take four of five blocks, so the fifth is never taken.
#[test]
fn a_memory_whose_blocks_do_not_divide_evenly_among_requests() {
    for (blocks, requests) in [(5, 20), (19, 60)] {
        is_limited_by(LimitCause::QueueKvCache, |mock, plan| {
            mock.ttft = MS(60);
            mock.kv_blocks = NonZeroUsize::new(blocks);
            random(plan).range_ratio = RangeRatio::FIXED;
            plan.workload.requests = requests;
        });
    }
}

#[test]
fn a_memory_that_requests_of_different_sizes_share() {
    is_limited_by(LimitCause::QueueKvCache, |mock, plan| {
        mock.ttft = MS(60);
        mock.kv_blocks = NonZeroUsize::new(21);
        mock.cache_block_tokens = NonZeroUsize::new(4).unwrap();
        plan.workload.requests = 60;
        random(plan).range_ratio = RangeRatio::new(0.1).unwrap();
    });
}

#[test]
fn few_places_beside_a_memory_that_is_half_full() {
    is_limited_by(LimitCause::Queue, |mock, plan| {
        mock.ttft = MS(60);
        mock.places = NonZeroUsize::new(2);
        mock.kv_blocks = NonZeroUsize::new(8);
        random(plan).range_ratio = RangeRatio::FIXED;
    });
}

#[test]
fn a_slow_prefill() {
    is_limited_by(LimitCause::Prefill, |mock, _| mock.ttft = MS(300));
}

#[test]
fn a_prefill_that_grows_with_the_prompt() {
    is_limited_by(LimitCause::Prefill, |mock, _| mock.prefill_per_token = MS(15));
}

#[test]
fn a_slow_decode() {
    is_limited_by(LimitCause::Decode, |mock, _| mock.itl = MS(60));
}

#[test]
fn an_answer_that_stalls() {
    is_limited_by(LimitCause::Decode, |mock, _| {
        mock.faults.push("stall@3:400ms".parse().unwrap());
    });
}

#[test]
fn a_slow_transfer_between_workers() {
    is_limited_by(LimitCause::KvTransfer, |mock, _| mock.kv_transfer = MS(300));
}

#[test]
fn a_slow_front_end() {
    is_limited_by(LimitCause::InsideServer, |mock, _| mock.frontend = MS(300));
}

#[test]
fn the_concurrency_limit_of_the_load() {
    is_limited_by(LimitCause::Gate, |mock, plan| {
        mock.ttft = MS(30);
        plan.load.arrivals = ArrivalSpec::at_rate(200.0).unwrap();
        plan.load.max_concurrency = NonZeroUsize::new(1);
    });
}

/// More streams than the server has places, as in the climb of an exploration: all requests are due
/// at once, and wait at the gate for longer than in the server's queue.
#[test]
fn few_places_behind_a_closed_loop() {
    is_limited_by(LimitCause::Queue, |mock, plan| {
        mock.ttft = MS(30);
        mock.places = NonZeroUsize::new(2);
        plan.load.max_concurrency = NonZeroUsize::new(8);
    });
}

#[test]
fn a_slow_network() {
    is_limited_by(LimitCause::Network, |mock, _| {
        mock.network = MS(100);
        mock.clock_skew_ms = 5000.0;
    });
}

#[test]
fn preemptions_come_before_the_decode_that_they_slow_down() {
    let mut mock = MockSpec::new(MS(2), Duration::from_micros(100));
    mock.faults.push("preempt@1:300ms/2".parse().unwrap());
    let limits = limits(&watched(mock));
    let answering = [LimitCause::Preemption, LimitCause::Decode];
    let named = limits.iter().filter(|limit| answering.contains(&limit.cause));
    let causes: Vec<_> = named.clone().map(|limit| limit.cause).collect();
    assert_eq!(causes, answering, "{limits:?}");
    let evidence = named.map(|limit| &limit.evidence).next().unwrap();
    assert!(evidence.contains("preempted 10 requests"), "{evidence}");
}

#[test]
fn a_throttled_gpu_is_named_beside_the_prefill() {
    let mut mock = MockSpec::new(MS(400), Duration::from_micros(100));
    mock.seed = 1;
    let exporter = ScriptedExporter::start(|_| {
        let text = "# TYPE DCGM_FI_DEV_CLOCKS_EVENT_REASONS gauge\n\
                    DCGM_FI_DEV_CLOCKS_EVENT_REASONS{gpu=\"0\"} 64\n";
        ExporterAnswer::Text(text.to_owned())
    });
    let mut plan = watched(mock);
    let url = exporter.url("/metrics").parse().unwrap();
    plan.control.telemetry.as_mut().unwrap().sources.push(MetricsSource::Url(url));
    let causes: Vec<_> = limits(&plan).iter().map(|limit| limit.cause).collect();
    assert!(causes.contains(&LimitCause::Prefill), "{causes:?}");
    assert!(causes.contains(&LimitCause::GpuThrottled), "{causes:?}");
}

/// No client sends a million requests in a second.
#[test]
fn a_starved_client() {
    is_limited_by(LimitCause::Client, |_, plan| {
        plan.workload.requests = 3000;
        plan.load.arrivals = ArrivalSpec::at_rate(1e6).unwrap();
        plan.load.shards = NonZeroUsize::new(1);
    });
}

/// Runs the same prompts twice against a server that says by these means what its cache held.
#[track_caller]
fn a_second_run_is_contaminated(backend: BackendName, source: ContaminationSource) {
    let mut mock = MockSpec::new(MS(2), Duration::from_micros(100));
    mock.cache_blocks = NonZeroUsize::new(10_000);
    mock.cache_block_tokens = NonZeroUsize::MIN;
    let server = MockServer::start(mock).unwrap();
    let run = || {
        let url = server.base_url().parse().unwrap();
        let mut plan = watched_by(backend, MockSpec::default());
        plan.server = ServerSpec::At(TargetSpec::new(url));
        random(&mut plan).input_tokens = 200;
        let contamination = Contamination::of(&log(&plan)).unwrap();
        assert_eq!(contamination.source, source);
        contamination
    };
    let cold = run();
    assert!(cold.share < 0.5 && !cold.is_found(), "{cold:?}");
    let warm = run();
    assert!(warm.share > 0.9 && warm.is_found(), "{warm:?}");
}

#[test]
fn a_second_run_of_the_same_prompts_is_contaminated() {
    a_second_run_is_contaminated(BackendName::Sglang, ContaminationSource::Answers);
}

#[test]
fn it_is_where_only_the_servers_metrics_say_so() {
    a_second_run_is_contaminated(BackendName::Vllm, ContaminationSource::Counters);
}
