//! Runs evalscope's sweeps and searches as a user does, against a server in the test process.

use std::fs;
use std::io::{BufRead, BufReader};
use std::num::NonZeroUsize;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use servemark_mock::{MockServer, MockSpec};
use tempfile::TempDir;

use crate::{refuses, servemark, text};

/// A folder for results and a server with the given faults.
struct TestBed {
    folder: TempDir,
    mock: MockServer,
}

impl TestBed {
    fn set(faults: &[&str]) -> Self {
        Self::of(|spec| spec.faults = faults.iter().map(|fault| fault.parse().unwrap()).collect())
    }

    fn of(change: impl FnOnce(&mut MockSpec)) -> Self {
        let mut spec = MockSpec { keep_requests: 1000, ..MockSpec::default() };
        change(&mut spec);
        Self { folder: tempfile::tempdir().unwrap(), mock: MockServer::start(spec).unwrap() }
    }

    /// Returns a command line with the test's own arguments appended; results are written to
    /// `out/m`.
    fn args(&self, line: &str) -> Vec<String> {
        let url = self.mock.base_url();
        let usual = format!(
            "evalscope perf --model m --url {url}/v1/chat/completions --max-tokens 4 {OUTPUT_FLAGS} {line}"
        );
        usual.split_whitespace().map(str::to_owned).collect()
    }

    fn run(&self, line: &str) -> Output {
        let args = self.args(line);
        servemark(&self.folder, &args.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn run_words(&self, words: &[String]) -> Output {
        let begin = ["evalscope", "perf"].into_iter().chain(OUTPUT_FLAGS.split(' '));
        let args: Vec<&str> = begin.chain(words.iter().map(String::as_str)).collect();
        servemark(&self.folder, &args)
    }

    fn start(&self, line: &str) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_servemark"));
        command.args(self.args(line)).current_dir(self.folder.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    }

    /// Returns the bodies of the POST requests to the server so far.
    fn request_bodies(&self) -> Vec<Value> {
        let posted = self.mock.requests().into_iter().filter(|request| request.method == "POST");
        posted.map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
    }

    /// Returns the distinct paths of the POST requests.
    fn request_paths(&self) -> Vec<String> {
        let posted = self.mock.requests().into_iter().filter(|request| request.method == "POST");
        let mut paths: Vec<String> = posted.map(|request| request.path).collect();
        paths.dedup();
        paths
    }

    /// Reads a file of the results of `m`.
    fn read(&self, name: &str) -> String {
        let folder = self.folder.path().join("out/m");
        fs::read_to_string(folder.join(name)).unwrap_or_default()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap_or_default()
    }
}

const OUTPUT_FLAGS: &str = "--sleep-interval 0 --outputs-dir out --no-timestamp --no-progress";

#[track_caller]
fn ends_with(code: i32, output: &Output) -> String {
    assert_eq!(
        output.status.code(),
        Some(code),
        "{}\n{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

#[test]
fn what_was_done_before_a_run_that_fails_is_reported() {
    // The fourth request is the connection test before the second run.
    let stage = TestBed::set(&["status:404/4"]);
    let output = stage.run("--prompt hello --parallel 1 2 3 -n 2 2 2");
    let stdout = ends_with(4, &output);
    assert!(text(&output.stderr).contains("point parallel_2_number_2: the test request failed"));
    let summary = stage.read("performance_summary.txt");
    assert!(stdout.ends_with(&summary) && summary.contains("│    1 │    - │   2 │"), "{summary}");
    assert!(stage.read("perf_report.html").contains("Parallel 1 / Number 2"));
    assert!(stage.json("parallel_1_number_2/benchmark_summary.json").is_object());
    assert!(stage.json("parallel_2_number_2/benchmark_summary.json").is_null());
}

#[test]
fn the_files_of_a_run_are_made_again_of_its_log() {
    let stage = TestBed::set(&[]);
    ends_with(0, &stage.run("--prompt hello --parallel 1 -n 2"));
    let folder = "out/m/parallel_1_number_2";
    let names = ["benchmark_summary.json", "benchmark_percentile.json", "benchmark_data.db"];
    let paths = names.map(|name| stage.folder.path().join(folder).join(name));
    let before = fs::read(&paths[0]).unwrap();
    for path in &paths {
        fs::remove_file(path).unwrap();
    }
    let log = format!("{folder}/run.runlog.jsonl");
    ends_with(0, &servemark(&stage.folder, &["score", &log, "--files"]));
    assert!(paths.iter().all(|path| path.exists()));
    assert_eq!(fs::read(&paths[0]).unwrap(), before);
}

/// A folder in the place of a file, so that the file cannot be written.
fn obstacle(stage: &TestBed, name: &str) {
    fs::create_dir_all(stage.folder.path().join("out/m").join(name)).unwrap();
}

#[test]
fn files_that_cannot_be_written_name_the_command_that_makes_them() {
    let stage = TestBed::set(&[]);
    let run = "parallel_1_number_2";
    obstacle(&stage, &format!("{run}/benchmark_percentile.json"));
    let output = stage.run("--prompt hello --parallel 1 2 -n 2 2");
    let (errors, news) = (ends_with(1, &output), text(&output.stderr));
    assert!(errors.contains("│    1 │    - │   2 │"), "{errors}");
    let log = format!("out/m/{run}/run.runlog.jsonl");
    assert!(news.contains(&format!("servemark score {log} --files")), "{news}");
    fs::remove_dir(stage.folder.path().join(format!("out/m/{run}/benchmark_percentile.json")))
        .unwrap();
    ends_with(0, &servemark(&stage.folder, &["score", &log, "--files"]));
    assert!(stage.json(&format!("{run}/benchmark_percentile.json")).is_array());

    let stage = TestBed::set(&[]);
    obstacle(&stage, "performance_summary.txt");
    let output = stage.run("--prompt hello --parallel 1 2 -n 2 2");
    let (errors, news) = (ends_with(1, &output), text(&output.stderr));
    assert!(errors.contains("│    2 │    - │   2 │"), "{errors}");
    assert_eq!(news.matches(" --as evalscope").count(), 2, "{news}");
    assert!(stage.read("perf_report.html").contains("Parallel 2 / Number 2"));

    let stage = TestBed::set(&[]);
    obstacle(&stage, "sla_summary.json");
    let search = r#"--prompt hello --sla-auto-tune --parallel 2 --sla-upper-bound 4 --sla-num-runs 1
        --sla-params [{"rps":"max"}]"#;
    let output = stage.run(search);
    let (errors, news) = (ends_with(1, &output), text(&output.stderr));
    assert!(errors.contains("Best observed rps: "), "{errors}\n{news}");
    assert!(news.contains(" --as evalscope"), "{news}");
    assert!(stage.read("performance_summary.txt").contains("│    2 │"));
}

/// Runs of one second have the same default name of their folder.
#[test]
fn runs_that_start_together_have_a_folder_each() {
    let folder = tempfile::tempdir().unwrap();
    let start = || {
        let line = "evalscope perf --model m --simulate ttft=2ms,itl=1ms --prompt hello --parallel 1 -n 2 \
                    --max-tokens 4 --outputs-dir out --no-progress";
        let mut command = Command::new(env!("CARGO_BIN_EXE_servemark"));
        command.args(line.split_whitespace()).current_dir(folder.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    for child in [0; 4].map(|_| start()) {
        ends_with(0, &child.wait_with_output().unwrap());
    }
    let runs = fs::read_dir(folder.path().join("out")).unwrap();
    let runs: Vec<_> = runs.map(|run| run.unwrap().path().join("m")).collect();
    assert_eq!(runs.len(), 4, "{runs:?}");
    for run in runs {
        let arguments = fs::read(run.join("parallel_1_number_2/benchmark_args.json")).unwrap();
        let arguments: Value = serde_json::from_slice(&arguments).unwrap();
        let reported = arguments["outputs_dir"].as_str().unwrap();
        assert!(folder.path().join(reported).join("benchmark_summary.json").exists(), "{reported}");
    }
}

#[test]
fn a_run_that_was_killed_is_not_measured_over() {
    let stage = TestBed::set(&[]);
    ends_with(0, &stage.run("--prompt hello --parallel 1 -n 2"));
    let folder = stage.folder.path().join("out/m/parallel_1_number_2");
    fs::remove_file(folder.join("benchmark_args.json")).unwrap();
    let requested = stage.request_bodies().len();
    let output = stage.run("--prompt hello --parallel 1 -n 2");
    ends_with(2, &output);
    assert!(text(&output.stderr).contains("holds a run already"), "{}", text(&output.stderr));
    assert_eq!(stage.request_bodies().len(), requested);
}

#[test]
fn ctrl_c_ends_a_sweep_and_what_was_done_is_reported() {
    // The first request of the second run never gets its full answer.
    let stage = TestBed::set(&["stall@1/5"]);
    let mut child = stage.start("--prompt hello --parallel 1 2 3 -n 2 2 2");
    while stage.request_bodies().len() < 6 {
        assert!(child.try_wait().expect("a child").is_none(), "it ended too early");
        std::thread::yield_now();
    }
    signal(&child);
    let news = BufReader::new(child.stderr.take().expect("a pipe"));
    let received = news.lines().map_while(Result::ok).any(|line| line.starts_with("Stopping:"));
    assert!(received, "the first was not heard");
    signal(&child);
    let stdout = ends_with(130, &child.wait_with_output().unwrap());
    let summary = stage.read("performance_summary.txt");
    assert!(stdout.ends_with(&summary), "{stdout}");
    for run in ["│    1 │    - │   2 │", "│    2 │    - │   2 │"] {
        assert!(summary.contains(run), "{summary}");
    }
    assert!(stage.json("parallel_3_number_2/benchmark_summary.json").is_null());
}

fn signal(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

#[test]
fn a_run_has_a_folder_of_its_own() {
    let line = "evalscope perf --model m --prompt hello --parallel 1 1 -n 2 2";
    let args: Vec<_> = line.split_whitespace().collect();
    refuses(&args, &["parallel_1_number_2 is asked for twice"]);
}

const DASHSCOPE: &str = "/api/v1/services/aigc/text-generation/generation";

#[test]
fn dashscope_is_asked_on_its_own_route() {
    for more in ["", "--no-stream", "--no-apply-chat-template"] {
        let stage = TestBed::set(&[]);
        let url = format!("{}{DASHSCOPE}", stage.mock.base_url());
        let line = format!("--api dashscope --url {url} --prompt hello -n 3 {more}");
        ends_with(0, &stage.run(&line));
        let summary = stage.json("parallel_1_number_3/benchmark_summary.json");
        assert_eq!(summary["Success Requests"], 3, "{more}: {summary}");
        assert_eq!(summary["Avg Output Tokens"], 4.0, "{more}: {summary}");
        let streams = if more == "--no-stream" { 0 } else { 3 };
        assert_eq!(summary["Stream Requests"], streams, "{more}: {summary}");
    }
}

#[test]
fn long_prompts_of_the_speed_benchmark_are_completed() {
    let stage = TestBed::set(&[]);
    let output = stage.run("--dataset speed_benchmark_long -n 4 --max-tokens 2");
    ends_with(0, &output);
    let rows = stage.json("parallel_1_number_4/speed_benchmark.json");
    assert_eq!(rows.as_array().map(Vec::len), Some(1), "{rows}");
    let requested: Vec<_> = stage
        .request_bodies()
        .iter()
        .map(|body| body["prompt"].as_str().map(|text| text.chars().count()))
        .collect();
    assert_eq!(requested[1..], [63_488, 63_488, 129_024, 129_024].map(Some));
}

#[test]
fn a_search_goes_by_rate() {
    let stage = TestBed::set(&[]);
    let rate = r#"--prompt hello --sla-auto-tune --sla-variable rate --rate 64 --sla-upper-bound 128
        --sla-num-runs 1 --sla-number-multiplier 0.1 --sla-params [{"avg_latency":"<=60s"}]"#;
    let stdout = ends_with(0, &stage.run(rate));
    assert!(stdout.contains("│ avg_latency <= 60 s │        128 │ best_observed │"), "{stdout}");
    let summary = stage.json("sla_summary.json");
    let loads: Vec<_> = summary.as_object().unwrap().keys().collect();
    assert_eq!(loads, ["rate_64", "rate_128"]);
}

#[test]
fn a_search_goes_to_the_best() {
    let stage = TestBed::set(&[]);
    let best = r#"--prompt hello --sla-auto-tune --parallel 2 --sla-upper-bound 4 --sla-num-runs 1
        --sla-params [{"rps":"max"}]"#;
    let stdout = ends_with(0, &stage.run(best));
    assert!(stdout.contains("Best observed rps: "), "{stdout}");
    let summary = stage.json("sla_summary.json");
    assert!(summary.get("parallel_2").is_some(), "{summary}");
}

/// A server with a single slot, so that latency grows with the number of requests in flight.
#[test]
fn a_search_goes_to_the_least() {
    let stage = TestBed::of(|spec| {
        spec.places = NonZeroUsize::new(1);
        (spec.ttft, spec.itl) = (Duration::from_millis(20), Duration::ZERO);
    });
    let least = r#"--prompt hello --sla-auto-tune --parallel 4 --sla-upper-bound 8 --sla-num-runs 1
        --sla-number-multiplier 4 --sla-params [{"p50_ttft":"min"}]"#;
    let stdout = ends_with(0, &stage.run(least));
    assert!(stdout.contains("│ p50_ttft min │          1 │ best_observed │"), "{stdout}");
    let summary = stage.json("sla_summary.json");
    let loads: Vec<_> = summary.as_object().unwrap().keys().map(String::as_str).collect();
    assert!(loads.contains(&"parallel_1") && loads.contains(&"parallel_4"), "{loads:?}");
    assert!(!loads.contains(&"parallel_8"), "it went the wrong way: {loads:?}");
}

/// Requests that ask for a decision, and their reports: complete ones from a file, and those of a
/// data set.
#[test]
fn decisions_are_measured_by_their_inputs() {
    for (api, data, route) in [
        ("systemone", "open_decisions", "/v1/systemone"),
        ("systemone", "decisions.jsonl", "/v1/systemone"),
        ("autotrust", "autotrust.jsonl", "/v1/decide"),
    ] {
        let stage = TestBed::set(&[]);
        let url = format!("{}/v1", stage.mock.base_url());
        let name = if data == "open_decisions" { data } else { "line_by_line" };
        let path = fixture(&format!("evalscope/inputs/{data}"));
        let line = format!("--api {api} --url {url} --dataset {name} --dataset-path {path} -n 6");
        let stdout = ends_with(0, &stage.run(&line));
        assert!(stdout.contains("Embedding/Rerank Performance Test Summary"), "{stdout}");
        assert_eq!(stage.request_paths(), [route]);
        let summary = stage.json("parallel_1_number_6/benchmark_summary.json");
        assert_eq!(summary["Success Requests"], 6, "{summary}");
        assert!(summary["Input Throughput (tok/s)"].as_f64() > Some(0.0), "{summary}");
        assert_eq!(summary["Avg TTFT (ms)"], 0.0);
        let unknown = ["Avg TTFT (ms)", "Avg TPOT (ms)", "Avg ITL (ms)"];
        assert_eq!(summary["Not Applicable Metrics"], serde_json::json!(unknown));
    }
}

#[test]
fn a_decision_that_does_not_fit_its_question_is_no_success() {
    let stage = TestBed::set(&[r#"status:200:{"model":"m","answers":{}}"#]);
    let url = format!("{}/v1", stage.mock.base_url());
    let path = fixture("evalscope/inputs/decisions.jsonl");
    let line =
        format!("--api systemone --url {url} --dataset line_by_line --dataset-path {path} -n 2");
    // evalscope ends with 0 although every request failed, and so does this without a tolerance.
    ends_with(0, &stage.run(&line));
    let summary = stage.json("parallel_1_number_2/benchmark_summary.json");
    assert_eq!(summary["Failed Requests"], 2, "{summary}");
    ends_with(5, &stage.run(&format!("{line} --name strict --tolerate-failures 0.5")));
}

/// Ranked documents have no output tokens on any path.
#[test]
fn a_ranking_has_the_tables_of_rankings_by_the_usual_path() {
    let stage = TestBed::set(&[]);
    let url = format!("{}/v1", stage.mock.base_url());
    let path = fixture("evalscope/inputs/rerank.jsonl");
    let line = format!("--api rerank --url {url} --dataset rerank --dataset-path {path} -n 3");
    let stdout = ends_with(0, &stage.run(&line));
    assert!(stdout.contains("Embedding/Rerank Performance Test Summary"), "{stdout}");
    assert_eq!(stage.request_paths(), ["/v1/reranks"]);
}

#[test]
fn pictures_have_the_colours_asked_for() {
    let stage = TestBed::set(&[]);
    let tokenizer = fixture("tokenizers/qwen2.5");
    let line = format!(
        "--dataset random_vl --tokenizer-path {tokenizer} --min-prompt-length 20 \
         --max-prompt-length 40 --image-width 16 --image-height 16 -n 1"
    );
    ends_with(0, &stage.run(&format!("{line} --image-format P --name palette")));
    let requested = stage.request_bodies();
    let message =
        requested.last().unwrap()["messages"][0]["content"][1]["image_url"]["url"].to_string();
    // Base64 of the header of a PNG with palette indices as pixels.
    assert!(
        message.contains("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAM"),
        "{message}"
    );
    let refused = ends_with(2, &stage.run(&format!("{line} --image-format CMYK")));
    assert_eq!(refused, "");
}

#[test]
fn progress_is_kept_in_a_file() {
    let stage = TestBed::set(&[]);
    ends_with(0, &stage.run("--prompt hello --parallel 1 2 -n 2 3 --enable-progress-tracker"));
    let mut progress = stage.json("progress.json");
    let at = progress.as_object_mut().unwrap().shift_remove("updated_at");
    assert_eq!(
        at.and_then(|at| at.as_str().map(str::len)),
        Some("2026-04-02T10:05:42.123456".len())
    );
    let expected = r#"{"status":"completed","pipeline":"perf","total_count":5,"processed_count":5,"percent":100.0}"#;
    assert_eq!(progress.to_string(), expected);
}

#[test]
fn what_was_sent_and_received_is_told_where_asked_for() {
    let stage = TestBed::set(&[]);
    ends_with(0, &stage.run("--prompt hello -n 2 --debug"));
    let log = stage.read("benchmark.log");
    assert_eq!(log.lines().count(), 2 * (1 + 4 + 1), "{log}");
    let first = log.lines().next().unwrap_or_default();
    assert!(first.contains(r#": sent "{\"messages\":[{\"role\":\"user\""#), "{log}");
    assert!(log.contains(r#"session 1, turn 0: received " time""#), "{log}");
    assert!(log.ends_with("session 1, turn 0: ended\n"), "{log}");
}

#[test]
fn turns_wait_for_gaps_of_their_own() {
    let stage = TestBed::set(&[]);
    let talks = r#"[{"role": "user", "content": "one"}, {"role": "assistant", "content": "x"}, {"role": "user", "content": "two"}]"#;
    fs::write(stage.folder.path().join("talks.jsonl"), talks).unwrap();
    let line = "--dataset custom_multi_turn --dataset-path talks.jsonl --multi-turn --rate 50 -n 3 \
                --parallel 2 --seed 5";
    ends_with(0, &stage.run(line));
    let summary = stage.json("parallel_2_number_3/benchmark_summary.json");
    assert_eq!(summary["Success Requests"], 6, "{summary}");
    assert_eq!(summary["Request Rate (req/s)"], 50.0, "{summary}");
}

/// Requests of several runs of one command line, recorded from evalscope: the second run
/// continues with the random state of the first.
#[test]
fn runs_of_a_sweep_draw_one_after_the_other() {
    let folder = fixture("evalscope/sweeps");
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 8, "a recording was added or lost");
    for file in files {
        let recorded: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let stage = TestBed::of(|spec| {
            (spec.ttft, spec.itl, spec.output_tokens) = (Duration::ZERO, Duration::ZERO, Some(1));
        });
        let output = stage.run_words(&repeated(&recorded["argv"], &stage.mock.base_url()));
        ends_with(0, &output);
        let mut requested = stage.request_bodies().into_iter().filter(|body| !is_greeting(body));
        for run in recorded["runs"].as_array().unwrap() {
            let mut theirs: Vec<String> =
                run.as_array().unwrap().iter().cloned().map(comparable).collect();
            let mut ours: Vec<String> =
                requested.by_ref().take(theirs.len()).map(comparable).collect();
            theirs.sort();
            ours.sort();
            assert_eq!(ours, theirs, "{}", file.display());
        }
        assert_eq!(requested.next(), None, "{}", file.display());
    }
}

/// Returns the recorded command line for this server.
fn repeated(argv: &Value, server: &str) -> Vec<String> {
    let words = argv.as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let found = |word: &str| match word {
        path if path.starts_with("tokenizers/") || path.starts_with("evalscope/") => fixture(path),
        word => word.to_owned(),
    };
    let all = argv.to_string();
    let paths = ["embeddings", "completions", "chat/completions"];
    let marks = ["openai_embedding", "/v1/completions", ""];
    let (path, _) = paths.into_iter().zip(marks).find(|(_, mark)| all.contains(mark)).unwrap();
    let last = ["--model", "folder/model", "--url"].map(str::to_owned);
    let last = last.into_iter().chain([format!("{server}/v1/{path}")]);
    words.map(found).chain(last).collect()
}

fn fixture(name: &str) -> String {
    format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn is_greeting(body: &Value) -> bool {
    let hello = serde_json::json!([{"role": "user", "content": "hello"}]);
    body["messages"] == hello || body["prompt"] == "hello"
}

/// Returns a body without the parts that depend on the server's answers, and without pixels.
fn comparable(mut body: Value) -> String {
    let messages = body.get_mut("messages").and_then(Value::as_array_mut);
    for message in messages.into_iter().flatten() {
        if message["role"] == "assistant" {
            message["content"] = "ok.".into();
        }
        let parts = message["content"].as_array_mut().into_iter().flatten();
        for part in parts.filter(|part| part["type"] == "image_url") {
            part["image_url"] = Value::Null;
        }
    }
    body.to_string()
}
