//! Profilers: which are switched, in which order, and what is reported.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use servemark::backends::BackendName;
use servemark::core::{JsonObject, Progress};
use servemark::mock::{MockServer, MockSpec};
use servemark::plan::{ProfileSpec, Profiled, WorkerSpec};
use servemark::{RunContext, RunEvent, RunObserver, execute};

use crate::runs::plan;

/// Records the events of profilers.
#[derive(Debug, Default)]
struct Notes(Mutex<Vec<String>>);

impl Progress for Notes {
    fn begin(&self, _work: &str, _total: u64) {}
    fn advance(&self, _steps: u64) {}
    fn end(&self) {}
}

impl RunObserver for Notes {
    fn on_event(&self, event: &RunEvent<'_>) {
        if let RunEvent::Profiler(profiler) = event {
            let message = profiler.to_string();
            self.0.lock().unwrap().extend(message.lines().map(str::to_owned));
        }
    }
}

/// Runs a plan that profiles `of` and returns the reported profiler events.
fn profiled(of: Profiled) -> Vec<String> {
    let spec = ProfileSpec {
        of,
        start: [("num_steps".to_owned(), json!(3))].into_iter().collect(),
        stop: Some(JsonObject::new()),
        ..ProfileSpec::default()
    };
    let mut plan = plan(BackendName::Sglang, &[]);
    plan.control.profile = Some(spec);
    let notes = Arc::new(Notes::default());
    execute(&plan, &RunContext::new(notes.clone())).unwrap();
    std::mem::take(&mut *notes.0.lock().unwrap())
}

/// Returns what the peer printed about profilers in a recorded run.
fn recorded(name: &str) -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sglang/bodies");
    let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
    let recording: Value = serde_json::from_str(&text).unwrap();
    let printed = recording["stdout_before_report"].as_str().unwrap();
    let of_profiler = |line: &&str| {
        let words = ["Profiler", "profiler...", "profiler start", "PD separated"];
        words.iter().any(|word| line.contains(word))
    };
    printed.lines().filter(of_profiler).map(str::to_owned).collect()
}

#[test]
fn the_servers_profiler_is_told_of_in_the_peers_words() {
    assert_eq!(profiled(Profiled::Server), recorded("profile_sglang"));
}

#[test]
fn workers_are_told_one_after_the_other() {
    let servers = [0, 1].map(|_| MockServer::start(MockSpec::default()).unwrap());
    let urls = servers.each_ref().map(MockServer::base_url);
    let worker = |(place, url): (usize, &String)| {
        WorkerSpec::new(format!("Prefill-{place}"), url.parse().unwrap())
    };
    let outcome = profiled(Profiled::Workers(urls.iter().enumerate().map(worker).collect()));
    let recorded = recorded("profile_pd_prefill_sglang");
    let expected: Vec<String> = recorded
        .iter()
        .map(|line| line.replace("$BASE_URL/p0", &urls[0]).replace("$BASE_URL/p1", &urls[1]))
        .collect();
    assert_eq!(outcome, expected);
    for server in &servers {
        let calls = server.control_calls();
        let paths: Vec<&str> = calls.iter().map(|call| call.path.as_str()).collect();
        assert_eq!(paths, ["/start_profile", "/stop_profile"]);
    }
}

#[test]
fn without_a_worker_no_server_is_profiled() {
    assert_eq!(profiled(Profiled::Workers(Vec::new())), recorded("profile_pd_no_url_sglang"));
}

#[test]
fn a_worker_that_is_not_there_costs_the_run_nothing() {
    let closed = WorkerSpec::new("Decode-0", "http://127.0.0.1:9".parse().unwrap());
    let outcome = profiled(Profiled::Workers(vec![closed]));
    assert_eq!(outcome.len(), 4, "{outcome:?}");
    let start = "Failed to start profiler for Decode-0 worker at http://127.0.0.1:9: ";
    assert!(outcome[1].starts_with(start), "{outcome:?}");
}
