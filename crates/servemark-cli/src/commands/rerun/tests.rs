use std::path::Path;

use serde_json::json;
use servemark_core::RunFacts;
use servemark_plan::Layout;

use super::*;
use crate::sglang;

/// Returns the header in the log of a run of this command line.
fn header(line: &str) -> Header {
    let args = line.split_whitespace().map(Into::into);
    let parsed = sglang::parse("bench-serving", args, &Environment::default()).unwrap();
    let mut facts = RunFacts::default();
    "vllm".clone_into(&mut facts.backend);
    "http://old:1".clone_into(&mut facts.target);
    "random".clone_into(&mut facts.dataset);
    (facts.requests, facts.seed) = (7, 42);
    let mut header = Header::new(0, facts, parsed.plan.to_json());
    VERSION.clone_into(&mut header.servemark);
    header
}

const OLD: &str = "--backend vllm --base-url http://old:1 --num-prompts 7 --seed 5 \
                   --request-rate 3 --output-file old.jsonl --run-log old.runlog.jsonl";

fn read(line: &str) -> Result<Rerun, UsageError> {
    let environment = Environment::default().with_variable("OPENAI_API_KEY", "sk-secret");
    parse("servemark rerun", line.split_whitespace().map(Into::into), &environment)
}

fn again(line: &str, header: &Header) -> Result<Parsed, CliError> {
    let rerun = read(line).unwrap();
    rerun.parsed(header, rerun.folder().map(ResultsFolder::path))
}

#[track_caller]
fn refuses(line: &str, header: &Header, words: &str) {
    let error = again(line, header).unwrap_err().to_string();
    assert!(error.contains(words), "{error}");
}

#[test]
fn what_is_sent_and_when_is_the_plans() {
    let header = header(OLD);
    let old: BenchPlan = serde_json::from_value(header.plan.clone()).unwrap();
    let mut new = again("old.runlog.jsonl", &header).unwrap().plan;
    assert_eq!(new.output.run_log.as_deref(), Some(Path::new(USUAL)));
    assert_eq!(new.output.result_file, None);
    assert!((new.scoring.tolerated_failures - 0.01).abs() < f64::EPSILON);
    new.output = old.output.clone();
    new.scoring = old.scoring.clone();
    assert_eq!(new, old);
}

#[test]
fn another_server_is_asked_the_same() {
    let mut header = header(OLD);
    let mut plan: BenchPlan = serde_json::from_value(header.plan).unwrap();
    plan.warm_up = Some(Box::new(plan.clone()));
    header.plan = plan.to_json();
    let new = again("old.runlog.jsonl --base-url http://new:2/v2", &header).unwrap().plan;
    for plan in [&new, new.warm_up.as_deref().unwrap()] {
        let ServerSpec::At(target) = &plan.server else { panic!("{plan:?}") };
        assert_eq!(target.base_url.to_string(), "http://new:2/v2");
        assert_eq!((plan.workload.requests, plan.workload.seed), (7, 5));
    }
}

#[test]
fn only_a_server_has_an_address() {
    let simulated = header("--simulate --num-prompts 7");
    assert!(again("old", &simulated).is_ok());
    let words = "--base-url has no effect where the run asked the bundled simulator";
    refuses("old --base-url http://new:2", &simulated, words);
}

#[test]
fn what_is_made_of_the_run_may_be_said_anew() {
    let line = "old --run-log new.jsonl --result-file r.jsonl --layout native --goodput ttft:9";
    let plan = again(line, &header(OLD)).unwrap().plan;
    assert_eq!(plan.output.run_log.as_deref(), Some(Path::new("new.jsonl")));
    assert_eq!(plan.output.result_file.as_deref(), Some(Path::new("r.jsonl")));
    assert_eq!((plan.scoring.layouts, plan.scoring.slos.len()), (vec![Layout::Native], 1));
    assert_eq!(again("old --no-run-log", &header(OLD)).unwrap().plan.output.run_log, None);
}

#[test]
fn a_batch_alone_is_not_what_was_sent() {
    let args = ["--model", "m", "--base-url", "http://old:1", "--batch-size", "2"].map(Into::into);
    let bench = sglang::one_batch::parse("x", None, args, &Environment::default()).unwrap();
    let plan = &bench.batches[0].case.plan;
    let header = Header::new(0, RunFacts::default(), plan.to_json());
    refuses("old", &header, "the run of old cannot be run again: it holds one batch of sglang.");
}

#[test]
fn a_plan_of_another_version_is_refused_with_its_name() {
    let mut header = header(OLD);
    "9.9.9".clone_into(&mut header.servemark);
    let reported = read("old").unwrap().announcement(&header);
    assert!(reported.contains("It was made by servemark 9.9.9, and this is "), "{reported}");
    header.plan["telepathy"] = json!(true);
    refuses("old", &header, "the plan that servemark 9.9.9 has written there: unknown field");
}

#[test]
fn the_announcement_says_what_is_sent_and_where() {
    let message = |line: &str| read(line).unwrap().announcement(&header(OLD));
    let old = "Running a.jsonl again: 7 requests of random, seed 42, to http://old:1.";
    assert_eq!(message("a.jsonl"), old);
    assert_eq!(message("a.jsonl --base-url http://new:2"), old.replace("old:1", "new:2"));
}

#[test]
fn keys_come_from_elsewhere_and_are_not_shown() {
    let rerun = read("old --header X-Tenant=blue-42").unwrap();
    let debug = format!("{rerun:?}");
    assert!(debug.contains("authorization") && debug.contains("x-tenant"), "{debug}");
    assert!(!debug.contains("secret") && !debug.contains("blue"), "{debug}");
    let error = read("old --header nonsense").unwrap_err().to_string();
    assert!(error.contains("--header must be KEY=VALUE"), "{error}");
    let error = read("old --run-log a --no-run-log").unwrap_err().to_string();
    assert!(error.contains("cannot be used with"), "{error}");
}

#[cfg(feature = "engine")]
#[test]
fn what_an_engine_prints_is_kept_beside_the_new_run_log() {
    let args = ["--engine", "sglang", "--model-path", "m"].map(Into::into);
    let offline = sglang::offline::parse("x", None, args, &Environment::default()).unwrap();
    let header = Header::new(0, RunFacts::default(), offline.whole().plan.to_json());
    let plan = again("old --run-log new.runlog.jsonl", &header).unwrap().plan;
    assert_eq!(plan.warm_up.unwrap().workload.requests, 16);
    let ServerSpec::Engine(spec) = plan.server else { panic!("no engine") };
    let servemark_engine::EngineSpec::Worker(worker) = spec.engine else { panic!("no worker") };
    assert_eq!(worker.log.as_deref(), Some(Path::new("new.engine.log")));
    refuses(
        "old --base-url http://new:2",
        &header,
        "where the run was of an engine without a server",
    );
}

const USUAL: &str = "servemark-results/00000000_000000/run.runlog.jsonl";

#[test]
fn results_have_a_folder_unless_the_run_log_has_a_place_of_its_own() {
    let folder = |line| read(line).unwrap().folder().map(|folder| folder.path().to_owned());
    let usual = Path::new("servemark-results/00000000_000000");
    assert_eq!(folder("old").as_deref(), Some(usual));
    assert_eq!(folder("old --out x").as_deref(), Some(Path::new("x")));
    for line in ["old --run-log a", "old --no-run-log", "old --plan-only"] {
        assert_eq!(folder(line), None, "{line}");
    }
    let both = again("old --out x --run-log a", &header(OLD)).unwrap().plan;
    assert_eq!(both.output.run_log.as_deref(), Some(Path::new("a")));
}

#[test]
fn a_share_of_failures_that_the_run_named_is_kept_unless_another_is_named() {
    let tolerance = |line, header| again(line, &header).unwrap().plan.scoring.tolerated_failures;
    let named = format!("{OLD} --tolerate-failures 0.5");
    let check = |found: f64, expected: f64| assert!((found - expected).abs() < f64::EPSILON);
    check(tolerance("old", header(OLD)), 0.01);
    check(tolerance("old", header(&named)), 0.5);
    check(tolerance("old --tolerate-failures 0.2", header(&named)), 0.2);
    let error = read("old --tolerate-failures 2").unwrap_err().to_string();
    assert!(error.contains("must lie in 0 to 1, not 2"), "{error}");
}

#[test]
fn credentials_that_are_missing_are_named() {
    let mut header = header(OLD);
    header.credentials = ["authorization", "x-team", "x-tenant"].map(str::to_owned).into();
    let warnings = |line| again(line, &header).unwrap().warnings;
    let [of_headers] = &warnings("old --header X-Tenant=blue")[..] else { panic!() };
    assert!(of_headers.contains("names only: x-team; give --header NAME=VALUE"), "{of_headers}");
    assert!(warnings("old --header x-tenant=blue X-Team=red").is_empty());
    let keyless = parse("servemark rerun", ["old".into()].into_iter(), &Environment::default());
    let [of_key] = &keyless.unwrap().parsed(&header, None).unwrap().warnings[..] else { panic!() };
    assert!(of_key.contains("authorization, x-team, x-tenant; set OPENAI_API_KEY"), "{of_key}");
}
