//! The audit of a server's prefix cache, against a simulator that hides what its cache finds.

use std::fmt::Write;
use std::fs;
use std::num::{NonZero, NonZeroUsize};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use servemark::backends::BackendName;
use servemark::client::TargetSpec;
use servemark::core::{NoProgress, RunLog, RunLogReader};
use servemark::datasets::{CustomSpec, DatasetSpec, SharedPrefixSpec};
use servemark::metrics::{
    CacheAudit, CacheFinding, Contamination, ContaminationSource, MetricPolicy, Metrics,
};
use servemark::mock::{MockServer, MockSpec};
use servemark::plan::{BenchPlan, ServerSpec};
use servemark::{RunContext, Scores, execute};

use crate::runs::{TOKENIZER, plan};

const PROMPTS: usize = 40;

/// Starts a server whose prefix cache saves 200 us a token, and which reports no hits.
fn server(cache_blocks: usize) -> MockServer {
    let mut mock = MockSpec::new(Duration::from_millis(2), Duration::from_micros(200));
    mock.prefill_per_token = Duration::from_micros(200);
    mock.cache_blocks = NonZeroUsize::new(cache_blocks);
    mock.hides_cached = true;
    MockServer::start(mock).unwrap()
}

/// Returns a plan with four requests in flight and an audit of all prompts.
fn audited(server: &MockServer, backend: BackendName, dataset: DatasetSpec) -> BenchPlan {
    let mut plan = plan(backend, &[]);
    plan.server = ServerSpec::At(TargetSpec::new(server.base_url().parse().unwrap()));
    plan.model.tokenizer = Some(servemark::tokenizer::TokenizerSpec::new(TOKENIZER));
    plan.workload.dataset = dataset;
    plan.workload.requests = PROMPTS;
    plan.load.max_concurrency = NonZeroUsize::new(4);
    plan.control.counters = true;
    plan.control.cache_audit = NonZero::new(u32::try_from(PROMPTS).unwrap());
    plan
}

/// Writes the prompts at these positions, of 150 words each, to a file.
fn prompts(folder: &Path, places: impl Iterator<Item = usize>) -> DatasetSpec {
    let mut text = String::new();
    for place in places {
        let words: Vec<String> = (0..150).map(|word| format!("w{}", place * 1000 + word)).collect();
        let line = serde_json::json!({
            "conversations": [{"content": words.join(" ")}, {"content": "a b c d e f"}],
        });
        writeln!(text, "{line}").unwrap();
    }
    let path = folder.join("prompts.jsonl");
    fs::write(&path, text).unwrap();
    DatasetSpec::Custom(CustomSpec { path: Some(path), ..CustomSpec::default() })
}

fn run(plan: &BenchPlan) -> RunLog {
    execute(plan, &RunContext::new(Arc::new(NoProgress))).unwrap().log
}

/// Runs prompts of which a tenth for each of `tenths` was sent before.
fn after_some(backend: BackendName, tenths: usize) -> RunLog {
    let (server, folder) = (server(100_000), tempfile::tempdir().unwrap());
    let before = prompts(folder.path(), (0..PROMPTS).filter(|place| place % 10 < tenths));
    if tenths > 0 {
        let mut plan = audited(&server, backend, before);
        plan.control.cache_audit = None;
        run(&plan);
    }
    run(&audited(&server, backend, prompts(folder.path(), 0..PROMPTS)))
}

#[track_caller]
fn check_share(log: &RunLog, share: f64) -> CacheAudit {
    let audit = CacheAudit::of(log).unwrap();
    assert_eq!((audit.prompts, audit.finding), (PROMPTS, CacheFinding::Estimated), "{audit:?}");
    let [low, high] = audit.interval.unwrap();
    assert!(low - 0.02 <= share && share <= high + 0.02, "{share} is not in {audit:?}");
    assert!(high - low < 0.6, "{audit:?}");
    assert!(audit.saved_by_cache.unwrap().chance < 0.001, "{audit:?}");
    let found = Contamination::of(log).unwrap();
    assert_eq!(found.source, ContaminationSource::Audit);
    audit
}

#[test]
fn hidden_hits_of_a_cache_show_in_the_times() {
    for (tenths, is_found) in [(0, false), (5, true), (9, true)] {
        let log = after_some(BackendName::VllmChat, tenths);
        let audit = check_share(&log, tenths as f64 / 10.0);
        assert!(audit.expected_share < 0.05, "{audit:?}");
        let found = Contamination::of(&log).unwrap();
        assert_eq!(found.is_found(), is_found, "{tenths} tenths: {found:?}");
        let verdicts = Metrics::score(&log, &MetricPolicy::native()).verdicts;
        let names: Vec<_> = verdicts.iter().map(|verdict| verdict.kind.name()).collect();
        assert_eq!(names.contains(&"contaminated"), is_found, "{names:?}");
    }
}

#[test]
fn the_run_log_alone_shows_the_same() {
    let (server, folder) = (server(100_000), tempfile::tempdir().unwrap());
    let path = folder.path().join("run.jsonl");
    for _ in 0..2 {
        let mut plan = audited(&server, BackendName::Sglang, prompts(folder.path(), 0..PROMPTS));
        plan.output.run_log = Some(path.clone());
        plan.output.run_log_if_taken = servemark::core::IfTaken::Replace;
        plan.scoring.layouts = vec![servemark::plan::Layout::Native];
        let log = run(&plan);
        let read = RunLogReader::open(&path).unwrap().into_log().unwrap();
        assert_eq!(CacheAudit::of(&read), CacheAudit::of(&log));
        assert_eq!(log.measured().count(), PROMPTS);
    }
    // The second run had all of its prompts in the cache.
    let read = RunLogReader::open(&path).unwrap().into_log().unwrap();
    let audit = check_share(&read, 1.0);
    assert!(audit.requests >= 36 && audit.first[0] < 5, "{audit:?}");
    let layouts = vec![servemark::plan::Layout::Native];
    let spec = servemark::plan::ScoringSpec { layouts, ..Default::default() };
    let scores = Scores::of(&read, &spec);
    let mut out = Vec::new();
    scores.write_tables(&mut out).unwrap();
    let table = String::from_utf8(out).unwrap();
    for text in ["Prefix cache, by prompts that were sent again", "signed ranks", "contaminated"] {
        assert!(table.contains(text), "{text} is not in {table}");
    }
    let mut out = Vec::new();
    scores.write_json(&mut out).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let contamination = &json["contamination"];
    assert!(contamination["share"].as_f64().unwrap() > 0.8, "{contamination}");
    assert!(contamination["expected_share"].as_f64().unwrap() < 0.05, "{contamination}");
    assert_eq!(json["cache_audit"]["finding"], "estimated");
}

#[test]
fn prefixes_that_the_plan_shares_are_no_contamination() {
    let server = server(100_000);
    let count = |count| NonZero::new(count).unwrap();
    let spec = SharedPrefixSpec {
        groups: count(4),
        prompts_per_group: count(10),
        system_tokens: 150,
        question_tokens: 50,
        output_tokens: 6,
        ..SharedPrefixSpec::default()
    };
    let dataset = DatasetSpec::GeneratedSharedPrefix(spec);
    let log = run(&audited(&server, BackendName::VllmChat, dataset));
    let audit = CacheAudit::of(&log).unwrap();
    assert_eq!(audit.finding, CacheFinding::Estimated, "{audit:?}");
    assert!(audit.expected_share > 0.5, "{audit:?}");
    assert!((audit.share.unwrap() - audit.expected_share).abs() < 0.2, "{audit:?}");
    assert!(!Contamination::of(&log).unwrap().is_found(), "{audit:?}");
}

#[test]
fn a_server_without_a_cache_shows_none() {
    let mut mock = MockSpec::new(Duration::from_millis(2), Duration::from_micros(200));
    mock.prefill_per_token = Duration::from_micros(50);
    let server = MockServer::start(mock).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let log = run(&audited(&server, BackendName::VllmChat, prompts(folder.path(), 0..PROMPTS)));
    let audit = CacheAudit::of(&log).unwrap();
    assert_ne!(audit.finding, CacheFinding::TooFew, "{audit:?}");
    assert!(!Contamination::of(&log).is_some_and(|found| found.is_found()), "{audit:?}");
}

#[test]
fn what_has_no_first_token_is_refused() {
    let mut plan = plan(BackendName::VllmChat, &[]);
    plan.control.cache_audit = NonZero::new(16);
    plan.check().unwrap();
    plan.wire.common_mut().stream = false;
    let error = plan.check().unwrap_err().to_string();
    assert_eq!(
        error,
        "`control.cache_audit` needs streamed answers with tokens, and vllm-chat has none here"
    );
}
