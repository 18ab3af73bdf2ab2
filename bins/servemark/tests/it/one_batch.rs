//! SGLang's one-batch benchmark with the `servemark` program.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use servemark_command_lines::ONE_BATCH_LINES;
use servemark_mock::{MockServer, MockSpec, ReceivedRequest};
use tempfile::TempDir;

use crate::{servemark, text};

fn fixture(path: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../fixtures", path].iter().collect()
}

/// Starts a server that records its requests and whose model has the tokenizer of the recordings.
fn server(change: impl FnOnce(&mut MockSpec)) -> MockServer {
    let mut spec = MockSpec::new(Duration::from_millis(3), Duration::from_millis(1));
    spec.model = fixture("tokenizers/gpt2").to_string_lossy().into_owned();
    spec.keep_requests = 100;
    change(&mut spec);
    MockServer::start(spec).unwrap()
}

fn words<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let module = ["python3", "-m", "sglang.bench_one_batch_server", "--base-url", url];
    [&module[..], more].concat()
}

/// Converts a recorded argument; its paths are those of the fixtures folder.
fn word(word: &str) -> String {
    if word.contains('/') { fixture(word).to_string_lossy().into_owned() } else { word.to_owned() }
}

#[test]
fn the_same_requests_are_sent_as_by_sglang() {
    let recorded = fs::read(fixture("sglang/one_batch.json")).unwrap();
    let recorded: Value = serde_json::from_slice(&recorded).unwrap();
    let mut compared = 0;
    // The recorded server that reports its capacity has a smaller one than the test server.
    let runs = recorded["runs"].as_array().unwrap().iter().filter(|run| run["name"] != "skipped");
    for run in runs {
        let folder = tempfile::tempdir().unwrap();
        let server = server(|_| {});
        let argv = run["argv"].as_array().unwrap();
        let argv: Vec<String> = argv.iter().map(|given| word(given.as_str().unwrap())).collect();
        let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
        let traces = folder.path().to_string_lossy().into_owned();
        let profile = ["--profile-output-dir", &traces];
        let profile = if argv.contains(&"--profile") { &profile[..] } else { &[] };
        let (url, log) = (server.base_url(), ["--no-run-log", "--bad-lines", "skip"]);
        let args = words(&url, &[&argv[..], &log, profile].concat());
        let output = servemark(&folder, &args);
        assert_eq!(output.status.code(), Some(0), "{argv:?} {}", text(&output.stderr));
        let sent: Vec<String> =
            server.requests().iter().filter_map(|request| posted(request, &traces)).collect();
        let expected: Vec<String> =
            run["requests"].as_array().unwrap().iter().map(Value::to_string).collect();
        assert_eq!(sent, expected, "{}", run["name"]);
        let printed = skeleton(&text(&output.stdout));
        assert_eq!(printed, skeleton(run["stdout"].as_str().unwrap()), "{}", run["name"]);
        compared += 1;
    }
    assert_eq!(compared, 14, "a run was added or lost");
}

/// Returns SGLang's lines without their numbers, which depend on the server. Lines about the
/// server's answers are omitted, because they differ.
fn skeleton(message: &str) -> Vec<String> {
    let is_sglangs = |line: &&str| {
        ONE_BATCH_LINES.iter().chain(&ABOUT_ITS_WORK).any(|start| line.starts_with(start))
    };
    let words = |line: &str| -> String {
        let words = line.split_whitespace().filter(|word| !differs(word));
        words.collect::<Vec<_>>().join(" ")
    };
    message.lines().filter(is_sglangs).map(words).collect()
}

/// Returns whether a word differs between runs: it contains a digit, or begins with `$`, which
/// stands for a path.
fn differs(word: &str) -> bool {
    word.starts_with('$') || word.contains(|sign: char| sign.is_ascii_digit())
}

/// Beginnings of further lines of SGLang's, which depend on files and times.
const ABOUT_ITS_WORK: [&str; 5] = [
    "Waiting for ",
    "Dump profiling traces to ",
    "Connecting to ",
    "Loading tokenizer for ",
    "Tokenizer loaded.",
];

/// Formats a request like the recording.
fn posted(request: &ReceivedRequest, traces: &str) -> Option<String> {
    if request.method != "POST" {
        return None;
    }
    let mut body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    if let Some(model) = body.get_mut("model") {
        *model = json!("tokenizers/gpt2");
    }
    if let Some(folder) = body.get_mut("output_dir") {
        assert!(folder.as_str().unwrap().starts_with(traces));
        *folder = json!("$TRACES");
    }
    for key in ["input_ids", "prompt"] {
        let prompts = body.get_mut(key).and_then(Value::as_array_mut);
        prompts.into_iter().flatten().for_each(shorten);
    }
    Some(json!({"path": request.path, "body": body}).to_string())
}

/// Replaces a long prompt of ids by its first id, its last id and its length.
fn shorten(prompt: &mut Value) {
    let ids = prompt.as_array().unwrap();
    if let ([first, .., last], true) = (ids.as_slice(), ids.len() > 64) {
        *prompt = json!({"first": first, "last": last, "length": ids.len()});
    }
}

fn bench(server: &MockServer, more: &[&str]) -> (TempDir, std::process::Output) {
    let folder = tempfile::tempdir().unwrap();
    let url = server.base_url();
    let small = ["--dataset-name", "random-ids", "--batch-size", "3", "--input-len", "6"];
    let small = [&small[..], &["--output-len", "8", "--skip-warmup"]].concat();
    let output = servemark(&folder, &words(&url, &[&small[..], more].concat()));
    (folder, output)
}

#[test]
fn a_batch_is_measured_told_and_kept() {
    let server = server(|spec| spec.accept_length = Some(2.0));
    let (folder, output) = bench(&server, &["--show-report", "--run-log", "batch.runlog.jsonl"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.contains("batch size: 3\ninput_len: 6\noutput_len: 8\nlatency: "), "{printed}");
    assert!(
        printed.contains("acc_length: 2.00 \n") && printed.contains("|   batch size |"),
        "{printed}"
    );
    assert!(printed.contains("\n\nResults are saved to result.jsonl\n"), "{printed}");
    assert!(printed.contains("\n\nInput lens: [6]. Output lens: [8].\n"), "{printed}");
    let line = fs::read_to_string(folder.path().join("result.jsonl")).unwrap();
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&line["total_output_tokens"], &line["num_early_stopped"]), (&json!(24), &json!(0)));
    // The simulator's schedule: the first token after 3 ms, the following ones 1 ms apart.
    assert!(line["last_ttft"].as_f64() >= Some(0.003) && line["latency"].as_f64() >= Some(0.01));
    let log = fs::read_to_string(folder.path().join("batch.runlog.jsonl")).unwrap();
    let requests: Vec<Value> = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).unwrap().get("request").cloned())
        .collect();
    let mut indices: Vec<_> = requests.iter().map(|one| one["index"].as_u64().unwrap()).collect();
    indices.sort_unstable();
    assert_eq!(indices, [0, 1, 2]);
    assert!(requests.iter().all(|one| one["sent"] == requests[0]["sent"]));
    let scored = servemark(&folder, &["score", "batch.runlog.jsonl", "--layout", "native"]);
    assert!(text(&scored.stdout).contains("  ok                3\n"), "{}", text(&scored.stderr));
}

#[test]
fn batches_whose_results_cannot_be_written_are_all_measured_and_reported() {
    let server = server(|_| {});
    let sizes = ["--batch-size", "2", "3", "--result-filename", "/dev/full", "--show-report"];
    let (_folder, output) = bench(&server, &[&sizes[..], &["--run-log", "b.jsonl"]].concat());
    let (printed, news) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{news}");
    for size in ["2", "3"] {
        assert!(printed.contains(&format!("batch size: {size}\n")), "{printed}\n{news}");
    }
    assert!(
        printed.contains("|   batch size |") && !printed.contains("Results are saved"),
        "{printed}"
    );
    assert_eq!(news.matches("cannot append to /dev/full: No space left").count(), 1, "{news}");
    assert_eq!(news.matches("  servemark score ").count(), 2, "{news}");
}

#[test]
fn a_server_that_cannot_be_started_is_refused_before_anything_is_prepared() {
    let folder = tempfile::tempdir().unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let port = port.to_string();
    let module = ["python3", "-m", "sglang.bench_one_batch_server", "--model-path", "m"];
    let output = servemark(&folder, &[&module[..], &["--port", &port]].concat());
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    for reported in
        ["--base-url", "python3 has no module named sglang; install it", "--python PATH"]
    {
        assert!(message.contains(reported), "{reported} is not in {message}");
    }
    assert!(!message.contains("Starting"), "{message}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is written");
}

#[test]
fn a_batch_that_breaks_off_has_no_result() {
    let server = server(|spec| spec.faults = vec!["error@3:object".parse().unwrap()]);
    let (folder, output) = bench(&server, &["--no-run-log"]);
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
    let message = text(&output.stderr);
    assert!(message.contains("3 of its prompts failed"), "{message}");
    assert!(!folder.path().join("result.jsonl").exists());
}

#[test]
fn what_a_server_cannot_hold_is_not_sent() {
    let server = server(|spec| spec.places = 2.try_into().ok());
    let (_, output) = bench(&server, &["--no-run-log"]);
    let printed = text(&output.stdout);
    assert!(
        printed.contains("========Skip benchmark batch_size=3 > skip_max_running"),
        "{printed}"
    );
    let (_, output) = bench(&server, &["--no-run-log", "--enable-multi-batch"]);
    assert!(text(&output.stdout).contains("batch size: 3\n"), "{}", text(&output.stderr));
}
