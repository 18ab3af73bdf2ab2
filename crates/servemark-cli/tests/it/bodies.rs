//! Tests with SGLang's recorded runs: our plan of the same command line sends the same requests.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use servemark_backends::{Backend, BackendSpec};
use servemark_cli::{CliError, Parsed, PeerArguments, sglang};
use servemark_datasets::{DatasetName, DatasetSpec};
use servemark_plan::{ControlSpec, Profiled};
use servemark_testkit::bodies;

use super::environment;

/// A recorded run of SGLang.
struct Recording {
    name: String,
    file: Value,
}

#[test]
fn every_run_is_understood() {
    for recording in recordings() {
        let refusal = recording.read().err();
        assert_eq!(refusal, None, "{}", recording.name);
    }
}

#[test]
fn the_same_bodies_are_asked_for() {
    let mut bodies = 0;
    for recording in recordings() {
        let Ok(parsed) = recording.read() else { continue };
        if parsed.plan.workload.dataset.name() == DatasetName::Openai {
            continue; // Its rows have keys of their own, which the data set adds.
        }
        let backend = recording.wire(&parsed).build();
        for body in recording.bodies(parsed.plan.backend.path()) {
            let request = backend.encode(&bodies::sample(body)).unwrap();
            let ours = String::from_utf8(request.body.to_vec()).unwrap();
            assert_eq!(ours, body.to_string(), "{}", recording.name);
            bodies += 1;
        }
    }
    assert!(bodies > 150, "only {bodies} bodies");
}

#[test]
fn the_same_arguments_are_printed() {
    for recording in recordings() {
        let Ok(parsed) = recording.read() else { continue };
        let Some(PeerArguments::Sglang { given, settled: resolved }) = &parsed.peer_arguments
        else {
            panic!("{}: no arguments", recording.name)
        };
        let mut ours = vec![format!("benchmark_args={given}"), resolved.to_string()];
        let theirs = recording.file["stdout_before_report"].as_str().unwrap();
        let theirs = theirs.lines().filter(|line| line.contains("Namespace("));
        // Values of headers are hidden in the recording, and a model may be the server's.
        let mut theirs: Vec<String> = theirs.map(fill).collect();
        ours.truncate(theirs.len());
        for line in ours.iter_mut().chain(&mut theirs) {
            for (member, next) in HIDDEN {
                *line = without(line, member, next);
            }
        }
        assert_eq!(ours, theirs, "{}", recording.name);
    }
}

/// Arguments whose values may differ, each with the argument after it.
const HIDDEN: [(&str, &str); 3] =
    [("base_url", "host"), ("model", "served_model_name"), ("header", "rust_client")];

/// Returns a line without the argument `member`, which the argument `next` follows.
fn without(line: &str, member: &str, next: &str) -> String {
    let from = line.find(&format!(" {member}=")).unwrap();
    let to = line.find(&format!(" {next}=")).unwrap();
    format!("{}{}", &line[..from], &line[to..])
}

#[test]
fn as_many_requests_are_asked_for() {
    for recording in recordings() {
        let Ok(Parsed { plan, .. }) = recording.read() else { continue };
        if plan.workload.dataset.name() == DatasetName::Openai {
            continue; // Its file has fewer rows than were asked for.
        }
        let sent = recording.bodies(plan.backend.path()).count();
        let turns = match &plan.workload.dataset {
            DatasetSpec::GeneratedSharedPrefix(spec) => spec.turns.get() as usize,
            _ => 1,
        };
        let sessions = plan.workload.requests + plan.load.warmup.requests;
        assert_eq!(sent, sessions * turns, "{}", recording.name);
    }
}

#[test]
fn the_cache_is_flushed_when_the_peer_flushes_it() {
    let mut flushes = 0;
    for recording in recordings() {
        let Ok(Parsed { plan, .. }) = recording.read() else { continue };
        let expected = recording.paths().find(|path| path.contains("cache"));
        let ours = plan.control.flush_cache.map(|timeout| plan.server_kind().flush_path(timeout));
        assert_eq!(ours.as_deref(), expected, "{}", recording.name);
        flushes += usize::from(ours.is_some());
    }
    assert!(flushes > 5, "only {flushes} flushes");
}

#[test]
fn the_profilers_are_told_the_same() {
    let mut reported = 0;
    for recording in recordings() {
        let Ok(Parsed { plan, .. }) = recording.read() else { continue };
        let ours = profiler_calls(&plan.control);
        assert_eq!(ours, recording.profiler_calls(), "{}", recording.name);
        reported += ours.len();
    }
    assert!(reported > 15, "only {reported} calls");
}

/// Returns the URLs and bodies of the profiler calls of a plan, in their order.
fn profiler_calls(control: &ControlSpec) -> Vec<(String, String)> {
    let Some(profile) = &control.profile else { return Vec::new() };
    let servers = match &profile.of {
        Profiled::Server => vec![fill("$BASE_URL")],
        Profiled::Workers(workers) => workers.iter().map(|worker| worker.url.to_string()).collect(),
    };
    let switches = [("start", Some(&profile.start)), ("stop", profile.stop.as_ref())];
    let calls = switches.iter().flat_map(|(name, body)| {
        let call = move |server| {
            Some((format!("{server}/{name}_profile"), json!(body.as_ref()?).to_string()))
        };
        servers.iter().filter_map(call)
    });
    calls.collect()
}

impl Recording {
    fn load(path: &Path) -> Self {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        Self { name, file: serde_json::from_slice(&fs::read(path).unwrap()).unwrap() }
    }

    fn read(&self) -> Result<Parsed, CliError> {
        let argv: Vec<String> = serde_json::from_value(self.file["argv"].clone()).unwrap();
        let argv = argv.iter().map(|arg| fill(arg).into());
        let variables = self.file["env"].as_object().unwrap().iter();
        let environment = variables.fold(environment(), |all, (name, value)| {
            all.with_variable(name, value.as_str().unwrap())
        });
        let parsed = sglang::parse("serving", argv, &environment);
        parsed.map_err(|refusal| refusal.cause().unwrap().clone())
    }

    /// Returns the wire dialect of the plan. A model name that only the server knew is taken from a
    /// recorded body.
    fn wire(&self, parsed: &Parsed) -> BackendSpec {
        let mut wire = parsed.plan.wire.clone();
        let sent =
            self.bodies(parsed.plan.backend.path()).next().and_then(|body| body.get("model"));
        if let (None, Some(sent)) = (&parsed.plan.model.name, sent) {
            sent.as_str().unwrap().clone_into(&mut wire.common_mut().model);
        }
        wire
    }

    fn requests(&self) -> impl Iterator<Item = &Value> {
        self.file["requests"].as_array().unwrap().iter()
    }

    fn paths(&self) -> impl Iterator<Item = &str> {
        self.requests().map(|request| request["path"].as_str().unwrap())
    }

    fn bodies<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Value> {
        let to_path = move |request: &&Value| request["path"].as_str().unwrap().ends_with(path);
        self.requests().filter(to_path).map(|request| &request["body"])
    }

    fn profiler_calls(&self) -> Vec<(String, String)> {
        let profiler = |request: &&Value| request["path"].as_str().unwrap().ends_with("_profile");
        let call = |request: &Value| {
            let path = request["path"].as_str().unwrap();
            (fill(&format!("$BASE_URL{path}")), fill(&request["body"].to_string()))
        };
        self.requests().filter(profiler).map(call).collect()
    }
}

fn folder() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sglang/bodies").into()
}

/// Returns all recordings except those of runs that ended before anything was sent.
fn recordings() -> Vec<Recording> {
    let mut paths: Vec<_> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 70, "only {} recordings", paths.len());
    let runs = paths.iter().map(|path| Recording::load(path));
    runs.filter(|recording| !recording.name.starts_with("exit_")).collect()
}

/// Replaces the placeholders of a recording by the values of our environment.
fn fill(text: &str) -> String {
    let filled = [
        ("$BASE_URL", "http://127.0.0.1:1"),
        ("$CWD", "/bench"),
        ("$TIME", "1783155900.25"),
        ("$PORT", "1"),
    ];
    filled.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
}
