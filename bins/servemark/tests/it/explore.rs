//! Servers of which only the address is known.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::num::NonZeroUsize;
use std::process::{Command, Stdio};

use serde_json::Value;
use servemark_mock::{ImitatedEngine, MockServer, MockSpec};

use super::{command, servemark, text};

/// A short exploration of a simulator whose answers take 200 ms each: 50 ms to the first of 16
/// tokens, and 10 ms to each later one.
const SHORT: [&str; 5] = ["demo", "--duration", "4", "--output-len", "16"];

#[test]
fn a_server_of_known_capacity_is_explored() {
    let folder = tempfile::tempdir().unwrap();
    let args = [&SHORT[..], &["--places", "6", "--json", "--out", "results"]].concat();
    let done = servemark(&folder, &args);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(found["engine"], "servemark simulator");
    assert_eq!(found["model"], "mock");
    assert_eq!(found["route"], "/v1/chat/completions");
    assert_eq!(found["saturated"], true, "{found:#}");
    // A busy machine is slower than the simulator's schedule; if it holds back the first token, the
    // others seem faster.
    let within = |value: &Value, least: f64, most: f64| {
        let value = value.as_f64().unwrap();
        assert!((least..=most).contains(&value), "{value} is not in {least} to {most}: {found:#}");
    };
    within(&found["one_user"]["ttft_ms"], 49.0, 500.0);
    within(&found["one_user"]["tokens_per_s"], 20.0, 300.0);
    // Six requests at once, 16 tokens in 0.2 s each. A busy machine may keep places empty.
    within(&found["best"]["output_tokens_per_s"], 120.0, 720.0);
    assert!(found["best"]["streams"].as_u64().unwrap() >= 6, "{found:#}");
    let kept = fs::read(folder.path().join("results/summary.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&kept).unwrap(), found);
    assert_eq!(found["report"], "results/report.html");
    let page = fs::read_to_string(folder.path().join("results/report.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("bundled passages"), "{page}");
    let log = folder.path().join("results/run.runlog.jsonl");
    let score = servemark(&folder, &["score", log.to_str().unwrap()]);
    assert_eq!(score.status.code(), Some(0), "{}", text(&score.stderr));
}

#[test]
fn a_stopped_exploration_keeps_what_it_measured() {
    let folder = tempfile::tempdir().unwrap();
    let long = ["demo", "--duration", "60", "--output-len", "16", "--out", "results"];
    let mut child = command(&folder, &long)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut rows = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let first = rows.find(|row| row.trim_start().starts_with("1 "));
    assert!(first.is_some(), "no load was measured");
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    let rest: Vec<String> = rows.collect();
    let done = child.wait_with_output().unwrap();
    let told = text(&done.stderr);
    assert_eq!(done.status.code(), Some(143), "{told}");
    assert!(told.starts_with("Stopping: SIGTERM; nothing more is sent"), "{told}");
    assert!(rest.iter().any(|row| row.starts_with("  Stopped     early")), "{rest:#?}");
    for file in ["report.html", "summary.json"] {
        assert!(folder.path().join("results").join(file).exists(), "{file}");
    }
    let score = servemark(&folder, &["score", "results/run.runlog.jsonl"]);
    assert_eq!(score.status.code(), Some(0), "{}", text(&score.stderr));
}

/// Explores a simulator that describes itself as an engine's server, in a new folder.
fn explored(engine: ImitatedEngine) -> Value {
    let spec = MockSpec {
        engine: Some(engine),
        model: "org/served".to_owned(),
        places: NonZeroUsize::new(4),
        ..MockSpec::default()
    };
    let server = MockServer::start(spec).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let short = ["--json", "--out", "results", "--duration", "3", "--output-len", "16"];
    let done = servemark(&folder, &[&[server.base_url().as_str()][..], &short].concat());
    let errors = text(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{engine}: {errors}");
    let kept: Vec<_> = ["report.html", "summary.json", "run.runlog.jsonl"]
        .into_iter()
        .filter(|name| folder.path().join("results").join(name).metadata().unwrap().len() > 100)
        .collect();
    assert_eq!(kept.len(), 3, "{engine}: {kept:?}");
    serde_json::from_slice(&done.stdout).unwrap()
}

/// Nothing but the address says that the server has times, metrics and a prefix cache of its own.
#[test]
fn all_that_a_server_shows_of_itself_is_shown_with_no_flag_but_its_address() {
    let spec = MockSpec {
        places: NonZeroUsize::new(4),
        cache_blocks: NonZeroUsize::new(10_000),
        ..MockSpec::default()
    };
    let server = MockServer::start(spec).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let short = ["--out", "results", "--duration", "4", "--output-len", "16"];
    let done = servemark(&folder, &[&[server.base_url().as_str()][..], &short].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    // The simulator reports vLLM's durations on this route, which place no clock.
    let summary = text(&done.stdout);
    for line in ["TTFT is     ", "Limited by  ", "Not told    way there, front end and way back: "]
    {
        assert!(summary.contains(&format!("\n  {line}")), "{line} is not in {summary}");
    }
    let score = servemark(&folder, &["score", "results/run.runlog.jsonl", "--json"]);
    let document: Value = serde_json::from_slice(&score.stdout).unwrap();
    let summary = fs::read(folder.path().join("results/summary.json")).unwrap();
    let summary: Value = serde_json::from_slice(&summary).unwrap();
    for part in ["anatomy", "contamination", "limits", "series"] {
        assert_eq!(summary[part], document[part], "{part}");
    }
    // The streams of an exploration are a closed loop, whose limit lets each request go in turn.
    let causes = document["limits"].as_array().unwrap().iter().map(|limit| &limit["cause"]);
    assert!(causes.clone().all(|cause| cause != "gate"), "{:?}", causes.collect::<Vec<_>>());
    let names = |list: &Value| -> Vec<String> {
        let all = list.as_array().unwrap().iter();
        all.map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    let parts = names(&document["anatomy"]["parts"]);
    for part in ["gate_wait", "send_lag", "server_queue", "prefill", "inside_server", "decode"] {
        assert!(parts.iter().any(|name| name == part), "{part} is not in {parts:?}");
    }
    let series = names(&document["series"]);
    let expected = ["running", "waiting", "prompt_tokens", "generated_tokens", "prefix_hits"];
    for quantity in expected {
        assert!(series.iter().any(|name| name == quantity), "{quantity} is not in {series:?}");
    }
    assert_eq!(names(&document["counted_twice"]).len(), 3, "{}", document["counted_twice"]);
    assert!(document["contamination"]["share"].is_number(), "{}", document["contamination"]);
    let limits = document["limits"].as_array().unwrap();
    assert!(limits.iter().all(|it| it["cause"].is_string() && it["evidence"].is_string()));
    assert!(!limits.is_empty(), "{document:#}");
    let tables = servemark(&folder, &["score", "results/run.runlog.jsonl", "--full"]);
    let tables = text(&tables.stdout);
    for title in ["Anatomy of a request (ms)", "Seen at http://", "What limits it"] {
        assert!(tables.contains(title), "{title} is not in {tables}");
    }
    let page = fs::read_to_string(folder.path().join("results/report.html")).unwrap();
    for panel in ["Parts of the time to first token", "What limits it"] {
        assert!(page.contains(panel), "{panel}");
    }
}

#[test]
fn the_first_minute_with_the_servers_of_seven_engines() {
    let own = env!("CARGO_PKG_VERSION").to_owned();
    let program = format!("servemark-mock {own}");
    for engine in ImitatedEngine::ALL {
        let found = explored(engine);
        assert_eq!(found["engine"], engine.name(), "{found:#}");
        let version = match engine {
            ImitatedEngine::Lmdeploy => Value::Null,
            ImitatedEngine::Ollama | ImitatedEngine::TensorrtLlm | ImitatedEngine::Vllm => {
                own.clone().into()
            }
            _ => program.clone().into(),
        };
        assert_eq!(found["version"], version, "{found:#}");
        assert_eq!(found["model"], "org/served", "{found:#}");
        assert_eq!(found["route"], "/v1/chat/completions", "{found:#}");
        // Four requests at once, 16 tokens in 0.2 s each. A busy machine may keep places empty.
        let rate = found["best"]["output_tokens_per_s"].as_f64().unwrap();
        assert!((80.0..=480.0).contains(&rate), "{engine}: {rate} tokens/s: {found:#}");
        let alone = found["one_user"]["tokens_per_s"].as_f64().unwrap();
        assert!((20.0..=300.0).contains(&alone), "{engine}: {alone} tokens/s: {found:#}");
        assert!(found["best"]["streams"].as_u64().unwrap() >= 4, "{found:#}");
    }
}

#[test]
fn the_capacity_at_an_objective_is_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    // With n requests at 4 places an answer takes about n / 4 x 200 ms, and none takes below 200 ms.
    let args = [&SHORT[..], &["--places", "4", "--slo", "e2el:p50<100ms", "--json"]].concat();
    let done = servemark(&folder, &args);
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(found["capacity"]["holds"], Value::Null, "{found:#}");
    assert!([3, 6].contains(&done.status.code().unwrap()), "{}", text(&done.stderr));
    let verdicts = found["levels"].as_array().unwrap().iter().map(|level| &level["slo"]);
    assert!(verdicts.clone().any(|verdict| verdict == "fails"), "{found:#}");
    assert!(!verdicts.clone().any(|verdict| verdict == "holds"), "{found:#}");
}

#[test]
fn the_table_and_the_summary_fit_the_screen() {
    let folder = tempfile::tempdir().unwrap();
    let done = servemark(&folder, &[&SHORT[..], &["--max-streams", "2"]].concat());
    let printed = text(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{printed}{}", text(&done.stderr));
    for part in ["One user", "Best", "Client", "Results", "Next"] {
        assert!(printed.contains(&format!("\n  {part} ")), "{printed}");
    }
    assert!(printed.contains("more streams may yield more"), "{printed}");
    let wide = printed.lines().find(|line| line.chars().count() > 100);
    assert_eq!(wide, None, "{printed}");
}

#[test]
fn an_address_without_a_server_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let done = servemark(&folder, &[&closed.to_string()]);
    let errors = text(&done.stderr);
    assert_eq!(done.status.code(), Some(4), "{errors}");
    assert!(errors.contains(&closed.to_string()), "{errors}");
    let left = fs::read_dir(folder.path().join("servemark-results")).unwrap().count();
    assert_eq!(left, 0, "no folder is left of an exploration that measured nothing");
}

#[test]
fn https_to_a_server_that_ends_the_handshake_is_told_with_what_to_try() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Takes the first bytes and closes, as servers that expect plain HTTP do.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.unwrap().read(&mut [0; 4096]);
        }
    });
    let done = servemark(&folder, &[&format!("https://{address}")]);
    let errors = text(&done.stderr);
    assert_eq!(done.status.code(), Some(4), "{errors}");
    assert!(errors.contains("is this port for http://?"), "{errors}");
}

#[test]
fn results_are_never_mixed_with_others() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("results")).unwrap();
    fs::write(folder.path().join("results/notes.txt"), "mine").unwrap();
    let done = servemark(&folder, &["demo", "--out", "results"]);
    let errors = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{errors}");
    assert!(errors.contains("not empty; name another"), "{errors}");
}
