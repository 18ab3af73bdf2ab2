//! Runs the program from its command line to its files, with a scripted engine and with stand-ins
//! for real engines. The stand-ins need `python3`, which the project's checks install.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};
use servemark_testkit::{HubFile, StandInHub};
use tempfile::TempDir;

/// A folder in which the program runs and leaves its files.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    fn program(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bench-offline"));
        command.current_dir(&self.folder);
        command
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.program();
        command.args(SMALL).args(args);
        command.env("PYTHONPATH", fixtures().join("engines")).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Returns the command of a run with a stand-in for SGLang that behaves as `fake` describes.
    fn fake(&self, fake: &Value) -> Command {
        let args = json!({ "fake": fake }).to_string();
        self.command(&["--model-path", MODEL, "--engine-args", &args])
    }

    fn lines(&self, file: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.path().join(file)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn write_tokenizer(&self, file: &str, words: usize) {
        fs::write(self.folder.path().join(file), tokenizer(words)).unwrap();
    }

    fn pid_file(&self) -> PathBuf {
        self.folder.path().join("pid")
    }

    /// Returns whether the engine's stray child process is running; asserts that it was started.
    fn has_stray(&self) -> bool {
        let pid = fs::read_to_string(self.pid_file()).unwrap();
        Path::new("/proc").join(pid.trim()).exists()
    }
}

/// Returns a tokenizer of `words` words: word `w7` has the id 7.
fn tokenizer(words: usize) -> String {
    let vocabulary: Map<String, Value> =
        (0..words).map(|id| (format!("w{id}"), id.into())).collect();
    let model = json!({"type": "WordLevel", "vocab": vocabulary, "unk_token": "w0"});
    json!({"model": model, "pre_tokenizer": {"type": "WhitespaceSplit"}}).to_string()
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_scripted_engine_runs_from_flags_to_files() {
    let bench = Bench::new();
    let output = bench.run(&["--engine", "scripted", "--result-filename", "out.jsonl", "--full"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(table.contains("====== Offline Throughput Benchmark Result ======="), "{table}");
    assert!(table.contains("Successful requests:                     4"), "{table}");
    // The data set and the warm-up, counted by SGLang's client before anything else.
    let message: Vec<&str> = table.lines().take(4).collect();
    let is_counted = |line: &&str| line.starts_with("#Input tokens: ");
    assert_eq!((is_counted(&message[0]), message[2]), (true, "#Input tokens: 1024"), "{table}");
    assert_eq!((message[1], message[3]), ("#Output tokens: 20", "#Output tokens: 64"), "{table}");
    assert!(table.contains("dummy: random numbers"), "{table}");
    assert!(table.contains("counted by      the engine (4)"), "{table}");
    assert!(table.contains("arrivals by       the engine's stamps"), "{table}");
    assert!(!table.lines().any(|line| line.starts_with("  connect")), "{table}");
    let [line] = bench.lines("out.jsonl").try_into().unwrap();
    let keys: Vec<_> = line.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys[..10], PEER_KEYS);
    assert_eq!(line["total_output_tokens"], 4 * 5);
    assert!(line["native_output_tokens_retokenized"].is_u64());
    let log = bench.lines("run.jsonl");
    assert_eq!(log[0]["header"]["engine"]["name"], "scripted");
    let phases = log.iter().filter(|line| line["request"]["phase"] == "warmup").count();
    assert_eq!(phases, 4, "SGLang's warm-up is as many, up to sixteen");
}

#[test]
fn without_an_argument_the_engine_in_this_program_computes() {
    let bench = Bench::new();
    let small = ["--num-prompts", "4", "--random-output-len", "5", "--run-log", "run.jsonl"];
    let output = bench.program().args(small).arg("--skip-warmup").output().unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(errors.contains("a small one is made up: its weights are random"), "{errors}");
    assert!(errors.contains("is loaded with dummy weights"), "{errors}");
    let table = text(&output.stdout);
    assert!(table.contains("====== Offline Throughput Benchmark Result ======="), "{table}");
    assert!(table.contains("Successful requests:                     4"), "{table}");
    assert!(table.contains("candle") && table.contains(", dummy weights"), "{table}");
    assert_eq!(bench.lines("servemark_candle.jsonl")[0]["successful_requests"], 4);
    let engine = &bench.lines("run.jsonl")[0]["header"]["engine"];
    assert_eq!((&engine["name"], &engine["weights"]), (&json!("candle"), &json!("dummy")));
    assert_eq!(engine["batch_policy"], "continuous, 32 requests and 2048 tokens at once");
}

#[test]
fn a_run_leaves_its_results_in_a_folder_of_its_own() {
    let bench = Bench::new();
    let prompts = ["--num-prompts", "4", "--random-output-len", "5", "--skip-warmup"];
    let output = bench.program().args(prompts).arg("--json").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "servemark/score/1");
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names(bench.folder.path()), ["servemark-results"]);
    let folder = bench.folder.path().join("servemark-results");
    let [made] = names(&folder).try_into().unwrap();
    let kept = folder.join(made);
    assert_eq!(names(&kept), ["report.html", "run.runlog.jsonl", "summary.json"]);
    let summary = fs::read_to_string(kept.join("summary.json")).unwrap();
    assert_eq!(summary, text(&output.stdout));
}

#[test]
fn what_an_engine_prints_is_kept_in_the_folder_of_the_results() {
    let bench = Bench::new();
    let fake = json!({"fake": {"noise": "hm"}}).to_string();
    let mut command = bench.program();
    command.args(["--model-path", MODEL, "--engine-args", &fake, "--num-prompts", "4"]);
    command.args(&SMALL[..4]).args(["--random-input-len", "12", "--random-output-len", "5"]);
    command.args(["--out", "kept", "--skip-warmup"]);
    command.env("PYTHONPATH", fixtures().join("engines")).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let kept = bench.folder.path().join("kept");
    assert!(fs::read_to_string(kept.join("run.engine.log")).unwrap().contains("hm"));
    assert!(kept.join("report.html").exists());
}

#[test]
fn the_engine_in_this_program_computes_with_real_weights() {
    let bench = Bench::new();
    bench.write_tokenizer("tokens.json", 96);
    let model = fixtures().join("engines/models/qwen3");
    let mut command = bench.program();
    command.args(["--engine", "candle", "--tokenizer-path", "tokens.json", "--model-path"]);
    command.arg(model).args(["--num-prompts", "4", "--random-output-len", "5"]);
    command.args(["--random-range-ratio", "1", "--run-log", "run.jsonl", "--skip-warmup"]);
    let output = command.args(["--max-running-requests", "2"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(table.contains("Total generated tokens:                  20"), "{table}");
    let engine = &bench.lines("run.jsonl")[0]["header"]["engine"];
    assert_eq!((&engine["name"], &engine["weights"]), (&json!("candle"), &json!("real")));
    assert_eq!(engine["batch_policy"], "continuous, 2 requests and 2048 tokens at once");
}

#[test]
fn a_model_is_had_from_the_hub_by_its_name() {
    let bench = Bench::new();
    let file = |name| fs::read(fixtures().join("engines/models/llama").join(name)).unwrap();
    let hub = StandInHub::start()
        .with("models/org/tiny/config.json", HubFile::small(file("config.json")))
        .with("models/org/tiny/model.safetensors", HubFile::big(file("model.safetensors")))
        .with("models/org/tiny/tokenizer.json", HubFile::small(tokenizer(96)));
    let mut command = bench.program();
    command.env("HF_ENDPOINT", hub.url()).env("HF_HOME", bench.folder.path());
    command.args(["--engine", "candle", "--model-path", "org/tiny", "--num-prompts", "2"]);
    command.args(["--random-output-len", "5", "--run-log", "run.jsonl", "--skip-warmup"]);
    let output = command.output().unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(errors.contains("Looking up the model org/tiny on the hub."), "{errors}");
    let header = &bench.lines("run.jsonl")[0]["header"];
    assert_eq!(header["engine"]["weights"], "real");
    let requested: HashSet<String> =
        hub.take_requests().into_iter().map(|received| received.route).collect();
    assert!(requested.iter().any(|route| route.ends_with("/model.safetensors")), "{requested:?}");
}

#[test]
fn a_worker_is_asked_in_one_call_and_told_of() {
    let bench = Bench::new();
    let mut command = bench.fake(&json!({"noise": "hm"}));
    let output = command.args(["--result-filename", "out.jsonl"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let line = &bench.lines("out.jsonl")[0];
    assert_eq!(
        (&line["successful_requests"], &line["total_output_tokens"]),
        (&json!(4), &json!(20))
    );
    assert_eq!(line["last_gen_throughput"], 7.5);
    assert_eq!(line["native_engine"]["version"], "0.0.fake");
    assert!(
        fs::read_to_string(bench.folder.path().join("run.jsonl.engine.log"))
            .unwrap()
            .contains("hm")
    );
}

#[test]
fn a_runtime_is_a_server_of_sglangs_own() {
    let bench = Bench::new();
    let output = bench.fake(&json!({})).args(["--backend", "runtime"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(table.contains("Backend:                                 runtime"), "{table}");
    assert!(table.contains("Total generated tokens:                  20"), "{table}");
}

#[test]
fn streaming_tells_every_tokens_time() {
    let bench = Bench::new();
    let output = bench.fake(&json!({})).arg("--stream").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let log = bench.lines("run.jsonl");
    let measured = log.iter().filter(|line| line["request"]["phase"] == "measure");
    let pieces: Vec<_> =
        measured.map(|line| line["request"]["deltas"]["at"].as_array().unwrap().len()).collect();
    assert_eq!(pieces, [5; 4]);
}

#[test]
fn an_engine_that_dies_in_the_middle_leaves_an_incomplete_run_that_is_scored() {
    let bench = Bench::new();
    let mut command = bench.fake(&json!({"crash_at": 3, "child": bench.pid_file()}));
    let output =
        command.args(["--stream", "--max-concurrency", "1", "--skip-warmup"]).output().unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{errors}");
    assert!(errors.contains("the engine ended: signal 9"), "{errors}");
    assert!(text(&output.stdout).contains("  INCOMPLETE  the run was interrupted; "));
    let footer = bench.lines("run.jsonl").pop().unwrap();
    assert!(footer["footer"]["engine_ended"].as_str().unwrap().contains("is about to die"));
    assert!(!bench.has_stray());
}

#[test]
fn an_engine_that_dies_before_anything_is_done_has_the_last_word() {
    let bench = Bench::new();
    let output =
        bench.fake(&json!({"crash": LENGTH_OF_ONE})).arg("--skip-warmup").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).ends_with("the engine is about to die\n"));
}

#[test]
fn an_engine_that_does_not_load_is_not_ready() {
    let bench = Bench::new();
    let output = bench.fake(&json!({"fail": "no such model"})).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stderr).contains("RuntimeError: no such model"));
}

/// Starts a run that hangs in its engine until it is killed.
fn hanging(bench: &Bench) -> Child {
    hanging_with(bench, &[])
}

fn hanging_with(bench: &Bench, flags: &[&str]) -> Child {
    let fake = json!({"hang": LENGTH_OF_ONE, "child": bench.pid_file(), "noise": "hm"});
    let mut command = bench.fake(&fake);
    command.arg("--skip-warmup").args(flags).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let log = bench.folder.path().join("run.jsonl.engine.log");
    let is_answering =
        || fs::read_to_string(&log).is_ok_and(|log| log.contains("hm while answering"));
    wait_until(is_answering);
    assert!(bench.has_stray());
    child
}

fn wait_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        assert!(Command::new("sleep").arg("0.1").status().unwrap().success());
    }
}

#[test]
fn ctrl_c_twice_ends_a_hanging_engine_with_its_run() {
    let bench = Bench::new();
    let mut child = hanging(&bench);
    let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
    for answer in ["Stopping", "Giving up"] {
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        assert!(errors.any(|line| line.unwrap().contains(answer)), "it never said {answer}");
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!bench.has_stray());
}

#[test]
fn sigterm_ends_a_hanging_engine_and_all_that_it_has_started_after_the_grace() {
    let bench = Bench::new();
    let mut child = hanging_with(&bench, &["--grace", "0"]);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(errors.any(|line| line.unwrap().contains("Giving up")), "it never gave up");
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(!bench.has_stray());
    let footer = bench.lines("run.jsonl").pop().unwrap();
    assert_eq!(footer["footer"]["interrupted"], true, "{footer}");
}

#[test]
fn a_program_that_is_not_to_exit_waits_for_ctrl_c() {
    let bench = Bench::new();
    let mut command = bench.command(&["--engine", "scripted", "--do-not-exit"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(errors.any(|line| line.unwrap().starts_with("All is done; ")));
    assert!(child.try_wait().unwrap().is_none());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_engine_does_not_outlive_a_program_that_is_killed() {
    let bench = Bench::new();
    let mut child = hanging(&bench);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until(|| !bench.has_stray());
}

const MODEL: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/spm-unigram-botchan-1000");

const SMALL: [&str; 14] = [
    "--dataset-name",
    "random",
    "--dataset-path",
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sglang/inputs/sharegpt.json"),
    "--num-prompts",
    "4",
    "--random-input-len",
    "12",
    "--random-output-len",
    "5",
    "--random-range-ratio",
    "1",
    "--run-log",
    "run.jsonl",
];

const LENGTH_OF_ONE: usize = 12;

const PEER_KEYS: [&str; 10] = [
    "backend",
    "successful_requests",
    "total_latency",
    "total_input_tokens",
    "total_output_tokens",
    "request_throughput",
    "input_throughput",
    "output_throughput",
    "total_throughput",
    "last_gen_throughput",
];
