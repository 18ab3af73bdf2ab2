//! evalscope's sweeps and searches as their user meets them, over a server of this process.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use servemark_mock::{MockServer, MockSpec};
use tempfile::TempDir;

use crate::{refuses, servemark, text};

/// A folder for results, and a server with these faults.
struct Stage {
    folder: TempDir,
    mock: MockServer,
}

impl Stage {
    fn set(faults: &[&str]) -> Self {
        let mut spec = MockSpec::default();
        spec.faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
        spec.keep_requests = 1000;
        Self { folder: tempfile::tempdir().unwrap(), mock: MockServer::start(spec).unwrap() }
    }

    /// The command line up to what a test adds to it; results go to `out/m`.
    fn args(&self, line: &str) -> Vec<String> {
        let url = self.mock.base_url();
        let usual = format!(
            "evalscope perf --model m --url {url}/v1/chat/completions --max-tokens 4 \
             --sleep-interval 0 --outputs-dir out --no-timestamp --no-progress {line}"
        );
        usual.split_whitespace().map(str::to_owned).collect()
    }

    fn run(&self, line: &str) -> Output {
        let args = self.args(line);
        servemark(&self.folder, &args.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn start(&self, line: &str) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_servemark"));
        command.args(self.args(line)).current_dir(self.folder.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    }

    /// The bodies that were posted to the server so far.
    fn asked(&self) -> Vec<Value> {
        let posted = self.mock.requests().into_iter().filter(|request| request.method == "POST");
        posted.map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
    }

    fn read(&self, name: &str) -> String {
        let path = Path::new("out/m").join(name);
        fs::read_to_string(self.folder.path().join(&path)).unwrap_or_default()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap_or_default()
    }
}

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
    // The fourth request is the test of the connection before the second run.
    let stage = Stage::set(&["status:404/4"]);
    let output = stage.run("--prompt hello --parallel 1 2 3 -n 2 2 2");
    let told = ends_with(4, &output);
    assert!(text(&output.stderr).contains("point parallel_2_number_2: the test request failed"));
    let summary = stage.read("performance_summary.txt");
    assert!(told.ends_with(&summary) && summary.contains("│    1 │    - │   2 │"), "{summary}");
    assert!(stage.read("perf_report.html").contains("Parallel 1 / Number 2"));
    assert!(stage.json("parallel_1_number_2/benchmark_summary.json").is_object());
    assert!(stage.json("parallel_2_number_2/benchmark_summary.json").is_null());
}

#[test]
fn ctrl_c_ends_a_sweep_and_what_was_done_is_reported() {
    // Of the second run the first request is never answered to its end.
    let stage = Stage::set(&["stall@1/5"]);
    let mut child = stage.start("--prompt hello --parallel 1 2 3 -n 2 2 2");
    while stage.asked().len() < 6 {
        assert!(child.try_wait().expect("a child").is_none(), "it ended too early");
        std::thread::yield_now();
    }
    signal(&child);
    let news = BufReader::new(child.stderr.take().expect("a pipe"));
    let heard = news.lines().map_while(Result::ok).any(|line| line.starts_with("Stopping:"));
    assert!(heard, "the first was not heard");
    signal(&child);
    let told = ends_with(130, &child.wait_with_output().unwrap());
    let summary = stage.read("performance_summary.txt");
    assert!(told.ends_with(&summary), "{told}");
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
