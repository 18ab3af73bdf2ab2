//! Repeats a completed run: it sends equal requests to the same or another server.

use std::collections::BTreeMap;
use std::fs;
use std::process::Output;

use serde_json::Value;
use servemark_mock::{MockServer, MockSpec};
use tempfile::TempDir;

use crate::{RUN, servemark, text};

fn mock() -> MockServer {
    let spec = MockSpec { keep_requests: 1000, ..MockSpec::default() };
    MockServer::start(spec).unwrap()
}

/// Returns how often the server received each body.
fn bodies(mock: &MockServer) -> BTreeMap<String, usize> {
    let mut bodies = BTreeMap::new();
    for request in mock.requests().into_iter().filter(|request| request.method == "POST") {
        *bodies.entry(text(&request.body)).or_default() += 1;
    }
    bodies
}

#[track_caller]
fn is_well(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}\n{}", text(&output.stdout), text(&output.stderr));
    text(&output.stderr)
}

fn lines(folder: &TempDir, name: &str) -> Vec<Value> {
    let log = fs::read_to_string(folder.path().join(name)).unwrap();
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the due times of the requests in the order of the plan.
fn due(folder: &TempDir, name: &str) -> Vec<u64> {
    let requests = lines(folder, name).into_iter().map(|mut line| line["request"].take());
    let measured = requests.filter(|request| request["phase"] == "measure");
    let mut due: Vec<_> = measured
        .map(|request| {
            [&request["index"], &request["scheduled"]].map(|value| value.as_u64().unwrap())
        })
        .collect();
    due.sort_unstable();
    let first = due[0][1];
    due.into_iter().map(|[_, due]| due - first).collect()
}

const OLD: &str = "bench-serving --backend vllm --dataset-name random-ids --num-prompts 6 \
                   --random-input-len 8 --random-output-len 4 --seed 3 --request-rate 2000 \
                   --run-log old.jsonl --output-file old.results";

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");

fn old_run(folder: &TempDir, server: &MockServer) {
    let (url, tokenizer) = (server.base_url(), format!("{FIXTURES}/tokenizers/gpt2"));
    let target = ["--base-url", &url, "--tokenizer", &tokenizer];
    let args: Vec<&str> = OLD.split_whitespace().chain(target).collect();
    is_well(&servemark(folder, &args));
}

#[test]
fn another_server_is_sent_the_same_requests_at_the_same_times() {
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = [mock(), mock()];
    old_run(&folder, &one);
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    let (log, results) = (read("old.jsonl"), read("old.results"));
    let url = other.base_url();
    let news = is_well(&servemark(
        &folder,
        &["rerun", "old.jsonl", "--base-url", &url, "--run-log", "new"],
    ));
    assert!(news.contains("Running old.jsonl again: 6 requests of random-ids, seed 3"), "{news}");
    assert!(news.contains("What changed: servemark compare old.jsonl new"), "{news}");
    assert_eq!(bodies(&one).values().sum::<usize>(), 7, "a warm-up and six requests");
    assert_eq!(bodies(&other), bodies(&one));
    assert_eq!(due(&folder, "new"), due(&folder, "old.jsonl"));
    assert_eq!((read("old.jsonl"), read("old.results")), (log, results));
    is_well(&servemark(&folder, &["compare", "old.jsonl", "new"]));
}

#[test]
fn without_an_address_the_same_server_is_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = mock();
    old_run(&folder, &server);
    let once = bodies(&server);
    is_well(&servemark(&folder, &["rerun", "old.jsonl", "--no-run-log", "--result-file", "r"]));
    assert_eq!(bodies(&server), once.into_iter().map(|(body, times)| (body, times * 2)).collect());
    assert_eq!(lines(&folder, "r").len(), 1);
}

#[test]
fn results_are_kept_in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let server = mock();
    old_run(&folder, &server);
    let again = ["rerun", "old.jsonl", "--out", "results", "--json"];
    let done = servemark(&folder, &again);
    is_well(&done);
    let kept = |name: &str| fs::read(folder.path().join("results").join(name)).unwrap();
    assert_eq!(kept("summary.json"), done.stdout);
    assert!(kept("report.html").starts_with(b"<!DOCTYPE html>"));
    is_well(&servemark(&folder, &["score", "results/run.runlog.jsonl"]));
    let mixed = servemark(&folder, &again);
    assert_eq!(mixed.status.code(), Some(2), "{}", text(&mixed.stderr));
    // The server speaks no TLS.
    let url = server.base_url().replace("http://", "https://");
    let failed = ["rerun", "old.jsonl", "--base-url", &url, "--out", "none"];
    assert_ne!(servemark(&folder, &failed).status.code(), Some(0));
    assert!(!folder.path().join("none").exists(), "an empty folder is left behind");
}

#[test]
fn a_server_that_refuses_may_want_a_key_that_no_log_holds() {
    let folder = tempfile::tempdir().unwrap();
    old_run(&folder, &mock());
    let mut spec = MockSpec::default();
    spec.faults.push("status:401/1".parse().unwrap());
    let strict = MockServer::start(spec).unwrap();
    let url = strict.base_url();
    let rerun = ["rerun", "old.jsonl", "--no-run-log", "--base-url", &url];
    let news = |more: &[&str]| {
        let output = servemark(&folder, &[&rerun, more].concat());
        assert_eq!(output.status.code(), Some(5));
        text(&output.stderr)
    };
    let hint = "set OPENAI_API_KEY or give --header KEY=VALUE";
    assert!(news(&[]).contains(hint));
    assert!(!news(&["--header", "X-Key=12345678"]).contains(hint));
}

#[test]
fn the_names_of_credentials_are_kept_and_those_that_are_missing_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let server = mock();
    let (url, tokenizer) = (server.base_url(), format!("{FIXTURES}/tokenizers/gpt2"));
    let target = ["--base-url", &url, "--tokenizer", &tokenizer];
    let keys = ["--header", "Authorization=Bearer sk-secret", "X-Tenant=blue-secret"];
    let old: Vec<&str> = OLD.split_whitespace().chain(target).chain(keys).collect();
    is_well(&servemark(&folder, &old));
    let header = lines(&folder, "old.jsonl").remove(0);
    assert_eq!(header["header"]["credentials"], serde_json::json!(["authorization", "x-tenant"]));
    let log = fs::read_to_string(folder.path().join("old.jsonl")).unwrap();
    assert!(!log.contains("secret"), "a value is in the log");
    let news = is_well(&servemark(&folder, &["rerun", "old.jsonl", "--no-run-log"]));
    let warning = "warning: the run sent credentials that this one lacks, because a run log keeps \
                   their names only: authorization, x-tenant; set OPENAI_API_KEY or API_KEY for \
                   authorization, or give --header NAME=VALUE";
    assert!(news.contains(warning), "{news}");
    let [warned, started] = [warning, "Waiting up to"].map(|text| news.find(text).unwrap());
    assert!(warned < started, "{news}");
    let given = ["rerun", "old.jsonl", "--no-run-log", "--header", "X-Tenant=x", "authorization=y"];
    let news = is_well(&servemark(&folder, &given));
    assert!(!news.contains("credentials"), "{news}");
}

#[test]
fn a_run_of_the_simulator_is_run_again_with_one() {
    let folder = tempfile::tempdir().unwrap();
    is_well(&servemark(&folder, &RUN));
    is_well(&servemark(&folder, &["rerun", "run.jsonl", "--run-log", "new"]));
    let sent = |name| {
        let lines = lines(&folder, name).into_iter();
        lines.filter(|line| line.get("request").is_some()).count()
    };
    assert_eq!(sent("new"), sent("run.jsonl"));
}

#[test]
fn an_engine_is_warmed_up_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let old = "bench-offline --engine scripted --dataset-name random --num-prompts 4 \
               --random-input-len 12 --random-output-len 5 --run-log old.jsonl --dataset-path";
    let prompts = format!("{FIXTURES}/sglang/inputs/sharegpt.json");
    let old: Vec<&str> = old.split_whitespace().chain([prompts.as_str()]).collect();
    is_well(&servemark(&folder, &old));
    is_well(&servemark(&folder, &["rerun", "old.jsonl", "--run-log", "new"]));
    let texts = |name| {
        let mut texts: Vec<_> = lines(&folder, name)
            .into_iter()
            .filter(|line| line.get("request").is_some())
            .map(|line| ["phase", "index", "text"].map(|key| line["request"][key].to_string()))
            .collect();
        texts.sort_unstable();
        texts
    };
    assert_eq!(texts("old.jsonl").len(), 8, "four are its warm-up");
    assert_eq!(texts("new"), texts("old.jsonl"));
}

#[test]
fn what_cannot_be_run_again_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    is_well(&servemark(&folder, &RUN));
    let before = fs::read(folder.path().join("run.jsonl")).unwrap();
    for (args, words) in [
        (&["absent.jsonl"][..], "cannot read the run log absent.jsonl"),
        (&["run.jsonl", "--run-log", "./run.jsonl"], "choose another name or give --overwrite"),
        (
            &["run.jsonl", "--run-log", "./run.jsonl", "--overwrite"],
            "the run log would be written to ./run.jsonl, which this command reads",
        ),
        (
            &["run.jsonl", "--base-url", "http://h:1"],
            "--base-url has no effect where the run asked",
        ),
        (&[], "<RUNLOG>"),
    ] {
        let output = servemark(&folder, &[&["rerun"], args].concat());
        let news = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{news}");
        assert!(news.contains(words), "{news}");
    }
    assert_eq!(fs::read(folder.path().join("run.jsonl")).unwrap(), before);
}
