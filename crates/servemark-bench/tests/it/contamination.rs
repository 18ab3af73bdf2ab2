//! Contaminated runs against a simulator that reports what its prefix cache finds.

use std::num::{NonZero, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use servemark::backends::BackendName;
use servemark::client::TargetSpec;
use servemark::core::{NoProgress, RunLog};
use servemark::datasets::{DatasetSpec, SharedPrefixSpec};
use servemark::metrics::{Contamination, ContaminationSource, RunVerdictKind, SloVerdict};
use servemark::mock::{ImitatedEngine, MockServer, MockSpec};
use servemark::plan::{BenchPlan, ServerSpec};
use servemark::{ExitCode, RunContext, Scores, execute};

use crate::runs::{TOKENIZER, plan};

fn server(change: impl FnOnce(&mut MockSpec)) -> MockServer {
    let mut mock = MockSpec::new(Duration::from_millis(2), Duration::from_micros(200));
    mock.cache_blocks = NonZeroUsize::new(100_000);
    change(&mut mock);
    MockServer::start(mock).unwrap()
}

/// Returns the plan of a run that fails if it is contaminated.
fn judged(server: &MockServer, backend: BackendName) -> BenchPlan {
    let mut plan = plan(backend, &[]);
    plan.server = ServerSpec::At(TargetSpec::new(server.base_url().parse().unwrap()));
    plan.model.tokenizer = Some(servemark::tokenizer::TokenizerSpec::new(TOKENIZER));
    if let DatasetSpec::Random(random) = &mut plan.workload.dataset {
        random.input_tokens = 120;
    }
    plan.load.max_concurrency = NonZeroUsize::new(4);
    plan.scoring.unwanted = vec![RunVerdictKind::Contaminated.into()];
    plan
}

fn run(plan: &BenchPlan) -> RunLog {
    execute(plan, &RunContext::new(Arc::new(NoProgress))).unwrap().log
}

/// Each group has two prompts, which begin with 20 tokens in common. The same prompts are sent again.
#[test]
fn prompts_of_an_earlier_run_contaminate_one_that_shares_little() {
    let server = server(|_| ());
    let count = |count| NonZero::new(count).unwrap();
    let spec = SharedPrefixSpec {
        groups: count(20),
        prompts_per_group: count(2),
        system_tokens: 20,
        question_tokens: 200,
        output_tokens: 4,
        ..SharedPrefixSpec::default()
    };
    let mut plan = judged(&server, BackendName::Sglang);
    plan.workload.dataset = DatasetSpec::GeneratedSharedPrefix(spec);
    plan.workload.requests = 40;
    for (is_found, code) in [(false, ExitCode::Ok), (true, ExitCode::GateFailed)] {
        let log = run(&plan);
        assert_eq!(log.footer().unwrap().shared_prefixes.len(), 40);
        let found = Contamination::of(&log).unwrap();
        // One prompt of each group is the first one, and shares nothing.
        let expected = found.expected_share.unwrap();
        assert!((0.03..0.1).contains(&expected), "{found:?}");
        assert_eq!(found.is_found(), is_found, "{found:?}");
        assert_eq!(found.share > 0.9, is_found, "{found:?}");
        assert_eq!(Scores::of(&log, &plan.scoring).exit_code(), code);
    }
}

/// In these dialects the peer's client neither asks for token counts nor reads `/metrics`.
#[test]
fn the_servers_counters_are_read_for_the_verdict() {
    for (backend, engine) in [
        (BackendName::Vllm, ImitatedEngine::Vllm),
        (BackendName::VllmChat, ImitatedEngine::Vllm),
        (BackendName::SglangOai, ImitatedEngine::Sglang),
        (BackendName::SglangOaiChat, ImitatedEngine::Sglang),
        (BackendName::SglangOaiChat, ImitatedEngine::Vllm),
        (BackendName::Vllm, ImitatedEngine::Sglang),
    ] {
        let server = server(|mock| mock.engine = Some(engine));
        let plan = judged(&server, backend);
        assert!(!plan.control.counters);
        let mut unasked = plan.clone();
        unasked.scoring.unwanted.clear();
        let first = run(&unasked);
        assert!(first.footer().unwrap().server_counters.is_none());
        let log = run(&plan);
        let found = Contamination::of(&log).unwrap();
        assert_eq!(found.source, ContaminationSource::Counters, "{backend}");
        assert!(found.share > 0.8, "{backend}: {found:?}");
        let scores = Scores::of(&log, &plan.scoring);
        assert_eq!(scores.exit_code(), ExitCode::GateFailed, "{backend}");
        assert_eq!((scores.unwanted().len(), scores.unjudged().len()), (1, 0), "{backend}");
        // The requests of both runs are the same.
        let bodies = server.requests().into_iter().map(|request| request.body);
        let mut bodies: Vec<_> = bodies.filter(|body| !body.is_empty()).collect();
        bodies.sort();
        let (once, rest) = bodies.as_chunks::<2>();
        assert!(once.len() >= plan.workload.requests && rest.is_empty(), "{backend}");
        assert!(once.iter().all(|[one, other]| one == other), "{backend}: bodies differ");
    }
}

#[test]
fn a_run_without_any_count_is_not_judged() {
    let server = server(|mock| {
        mock.engine = Some(ImitatedEngine::Vllm);
        mock.hides_cached = true;
    });
    let plan = judged(&server, BackendName::VllmChat);
    let log = run(&plan);
    let scores = Scores::of(&log, &plan.scoring);
    assert_eq!(scores.exit_code(), ExitCode::Undecided);
    assert!(scores.unwanted().is_empty());
    let [(kind, reason)] = &scores.unjudged()[..] else { panic!("{:?}", scores.unjudged()) };
    assert_eq!(*kind, RunVerdictKind::Contaminated.into());
    assert!(reason.starts_with("cannot be judged: neither answers nor counters"), "{reason}");
    let report = scores.gate_report("run");
    let gate = report.gates.iter().find(|gate| gate.name == "--fail-on contaminated").unwrap();
    assert_eq!(gate.verdict, SloVerdict::Undecided);
    // Without the flag, the exit code is that of the run.
    let mut unasked = plan.scoring.clone();
    unasked.unwanted.clear();
    assert_eq!(Scores::of(&log, &unasked).exit_code(), ExitCode::Ok);
}
