//! Scripted bottlenecks of the simulator, named by the report, and its prefix cache.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use servemark::backends::BackendName;
use servemark::client::TargetSpec;
use servemark::core::{NoProgress, RunLog};
use servemark::metrics::{Contamination, Limit, LimitCause};
use servemark::mock::{MockServer, MockSpec};
use servemark::plan::{ServerSpec, TelemetrySpec};
use servemark::{RunContext, Scores, execute};

use crate::runs::plan;

fn log(server: ServerSpec, concurrency: Option<usize>) -> RunLog {
    let mut plan = plan(BackendName::Sglang, &[]);
    plan.server = server;
    plan.load.max_concurrency = concurrency.and_then(NonZeroUsize::new);
    plan.control.telemetry = Some(TelemetrySpec::of_server());
    plan.model.tokenizer = Some(servemark::tokenizer::TokenizerSpec::new(crate::runs::TOKENIZER));
    execute(&plan, &RunContext::new(Arc::new(NoProgress))).unwrap().log
}

/// Returns what limits a run of twenty requests that are all due at once.
fn causes(change: fn(&mut MockSpec), concurrency: Option<usize>) -> Vec<LimitCause> {
    let mut mock = MockSpec::new(Duration::from_millis(2), Duration::from_micros(100));
    change(&mut mock);
    let log = log(ServerSpec::Simulated(mock), concurrency);
    let plan = plan(BackendName::Sglang, &[]);
    let scores = Scores::of(&log, &plan.scoring);
    Limit::of(&log, scores.audit()).iter().map(|limit| limit.cause).collect()
}

#[test]
fn bottlenecks_are_named() {
    let few_places = causes(
        |mock| {
            mock.ttft = Duration::from_millis(30);
            mock.places = NonZeroUsize::new(2);
        },
        None,
    );
    assert_eq!(few_places.first(), Some(&LimitCause::Queue));
    let slow_prefill = causes(|mock| mock.ttft = Duration::from_millis(300), None);
    assert_eq!(slow_prefill.first(), Some(&LimitCause::Prefill));
    let slow_decode = causes(|mock| mock.itl = Duration::from_millis(60), None);
    assert_eq!(slow_decode.first(), Some(&LimitCause::Decode));
    let slow_transfer = causes(|mock| mock.kv_transfer = Duration::from_millis(300), None);
    assert_eq!(slow_transfer.first(), Some(&LimitCause::KvTransfer));
    let slow_front = causes(|mock| mock.frontend = Duration::from_millis(300), None);
    assert_eq!(slow_front.first(), Some(&LimitCause::InsideServer));
    let gated = causes(|mock| mock.ttft = Duration::from_millis(30), Some(1));
    assert_eq!(gated.first(), Some(&LimitCause::Gate));
}

#[test]
fn a_second_run_of_the_same_prompts_is_contaminated() {
    let mut mock = MockSpec::new(Duration::from_millis(2), Duration::from_micros(100));
    mock.cache_blocks = NonZeroUsize::new(10_000);
    mock.cache_block_tokens = NonZeroUsize::MIN;
    let server = MockServer::start(mock).unwrap();
    let run = || {
        let url = server.base_url().parse().unwrap();
        let mut plan = plan(BackendName::Sglang, &[]);
        plan.server = ServerSpec::At(TargetSpec::new(url));
        plan.model.tokenizer =
            Some(servemark::tokenizer::TokenizerSpec::new(crate::runs::TOKENIZER));
        if let servemark::datasets::DatasetSpec::Random(random) = &mut plan.workload.dataset {
            random.input_tokens = 200;
        }
        execute(&plan, &RunContext::new(Arc::new(NoProgress))).unwrap().log
    };
    let cold = Contamination::of(&run()).unwrap();
    assert!(cold.share < 0.5 && !cold.is_found(), "{cold:?}");
    let warm = Contamination::of(&run()).unwrap();
    assert!(warm.share > 0.9 && warm.is_found(), "{warm:?}");
}
