//! Bodies of sent requests, reconstructed after the run.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use servemark::backends::{BackendName, BackendSpec, EvalscopeApi, EvalscopeSpec as Wire};
use servemark::client::TargetSpec;
use servemark::core::NoProgress;
use servemark::datasets::{DatasetSpec, EvalscopeData, EvalscopeName, EvalscopeSpec};
use servemark::mock::{MockServer, MockSpec};
use servemark::plan::{BenchPlan, ServerSpec, WorkloadSpec};
use servemark::runner::{LoadSpec, WarmupSpec};
use servemark::schedule::ArrivalSpec;
use servemark::{RunContext, execute};

const TALKS: &str = r#"[{"role": "user", "content": "one é"}, {"role": "assistant", "content": "x"}, {"role": "user", "content": "two"}, {"role": "user", "content": "three"}]
[{"role": "system", "content": "be brief"}, {"role": "user", "content": "four"}]
"#;

#[test]
fn bodies_are_what_the_server_was_sent() {
    let mut mock = MockSpec::new(Duration::from_millis(1), Duration::ZERO);
    mock.keep_requests = 100;
    let server = MockServer::start(mock).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let talks = folder.path().join("talks.jsonl");
    fs::write(&talks, TALKS).unwrap();
    let mut data = EvalscopeData::from_name(EvalscopeName::CustomMultiTurn);
    let EvalscopeData::Turns(turns) = &mut data else { panic!("{data:?}") };
    turns.path = Some(talks);
    let dataset = DatasetSpec::Evalscope(EvalscopeSpec::new(data));
    let target = TargetSpec::new(server.base_url().parse().unwrap());
    let wire = BackendSpec::Evalscope(Wire::new(EvalscopeApi::Openai, "m"));
    let mut load = LoadSpec::new(ArrivalSpec::Burst);
    load.warmup = WarmupSpec::alike(0);
    let workload = WorkloadSpec::new(dataset, 3);
    let mut plan =
        BenchPlan::new(ServerSpec::At(target), BackendName::VllmChat, wire, workload, load);
    plan.model.name = Some("m".to_owned());
    plan.model.untokenized = true;
    let run = execute(&plan, &RunContext::new(Arc::new(NoProgress))).unwrap();
    let sent = run.sent.as_ref().unwrap();
    let bodies = sent.bodies(&run.log);
    let mut again: Vec<Vec<u8>> =
        run.log.measured().map(|record| bodies.body(record).unwrap()).collect();
    let received = server.requests().into_iter().filter(|request| request.method == "POST");
    let mut received: Vec<Vec<u8>> = received.map(|request| request.body.to_vec()).collect();
    again.sort();
    received.sort();
    let rendered = |bodies: &[Vec<u8>]| {
        bodies.iter().map(|body| String::from_utf8_lossy(body).into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(rendered(&again), rendered(&received));
    // Two turns of the first conversation, which is sent twice, and one turn of the second.
    assert_eq!(again.len(), 5);
}
