//! Runs vLLM's sweeps as a user does, with scripts as servers and benchmarks.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use servemark_mock::{MockServer, MockSpec};
use tempfile::TempDir;

use crate::{servemark, text};

/// A folder with scripts for a server and a benchmark. A mock server in the test process answers
/// the requests to the server.
struct TestBed {
    folder: TempDir,
    mock: MockServer,
}

/// Script that writes its process id and stays; it has a child process that must end with it.
const SERVER: &str = "#!/bin/sh\nsleep 1000 &\necho $$ >> servers\nwait\n";

/// Script that writes a result with round numbers: throughput is half the concurrency limit in
/// requests per second, and latency is half a millisecond more than the limit in milliseconds. At
/// a limit of 7 it kills its parent, at 9 it fails.
const BENCH: &str = r#"#!/bin/sh
echo "$@" >> benches
while [ $# -gt 0 ]; do
  case $1 in
    --result-dir) dir=$2 ;;
    --result-filename) name=$2 ;;
    --max-concurrency) limit=$2 ;;
    --request-rate) rate=$2 ;;
  esac
  shift
done
echo "seen"
[ "$limit" = 7 ] && [ ! -e spared ] && touch spared && kill -9 $PPID && exit 1
[ "$limit" = 9 ] && exit 3
half=$((${limit:-${rate:-2}} * 5))
echo "{\"request_throughput\": ${half}e-1, \"mean_e2el_ms\": ${limit:-1}.5, \"output_throughput\": ${half}.0}" > "$dir/$name"
"#;

impl TestBed {
    fn set() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let spec = MockSpec { keep_requests: 1000, ..MockSpec::default() };
        let bed = Self { folder, mock: MockServer::start(spec).unwrap() };
        bed.script("vllm", SERVER);
        bed.script("bench", BENCH);
        bed
    }

    fn script(&self, name: &str, script: &str) {
        let path = self.path(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn parameters(&self, name: &str, parameters: &Value) {
        fs::write(self.path(name), parameters.to_string()).unwrap();
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path(name)).expect(name)).unwrap()
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn serve(&self, kind: &str, more: &[&str]) -> Output {
        let url = self.mock.base_url();
        let port = url.rsplit(':').next().unwrap();
        let server = format!("./vllm serve m --host 127.0.0.1 --port {port}");
        let common = [
            "vllm",
            "bench",
            "sweep",
            kind,
            "--serve-cmd",
            &server,
            "--bench-cmd",
            "./bench --x 1",
        ];
        servemark(&self.folder, &[&common, more].concat())
    }

    /// Returns the paths of the POST requests, which emptied the server's caches.
    fn resets(&self) -> Vec<String> {
        let requested = self.mock.requests().into_iter().filter(|request| request.method == "POST");
        requested.map(|request| request.path).collect()
    }

    /// Waits until every started server is gone; a zombie counts as gone. Returns the number of
    /// servers.
    fn has_no_server(&self) -> usize {
        let servers = self.text("servers");
        for number in servers.lines() {
            let status = PathBuf::from(format!("/proc/{number}/stat"));
            let is_alive = || fs::read_to_string(&status).is_ok_and(|stat| !stat.contains(") Z "));
            while is_alive() {
                std::thread::yield_now();
            }
        }
        servers.lines().count()
    }
}

#[track_caller]
fn is_well(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}\n{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn each_server_is_measured_with_each_benchmark() {
    let bed = TestBed::set();
    bed.parameters("serve.json", &json!({"small": {"tp": 1}, "large": {"tp": 2, "fast": true}}));
    bed.parameters("bench.json", &json!([{"max_concurrency": 1}, {"max_concurrency": 2, "x": 3}]));
    let params = ["--serve-params", "serve.json", "--bench-params", "bench.json"];
    let run = bed.serve("serve", &[&params[..], &["-e", "e", "--num-runs", "2"]].concat());
    let stdout = is_well(&run);
    let marks: Vec<&str> = stdout.lines().filter(|line| line.starts_with('[')).collect();
    let benchmark = ["[BEGIN BENCHMARK]", "[END BENCHMARK]"].repeat(4);
    let server = [&["[BEGIN SERVER]"][..], &benchmark, &["[END SERVER]"]].concat();
    assert_eq!(marks, server.repeat(2), "{stdout}");
    assert!(!stdout.contains("seen"), "what a benchmark prints is not shown");
    assert!(
        stdout.contains("Server overrides: {'_benchmark_name': 'large', 'tp': 2, 'fast': True}")
    );
    assert!(stdout.contains("Benchmark command: ['./bench', '--x', '3', '--max-concurrency', '2', '--percentile-metrics', 'ttft,tpot,itl,e2el', '--save-result', '--result-dir', 'results/e/SERVE--large-BENCH--max_concurrency=2-x=3', '--result-filename', 'run=1.json']"), "{stdout}");
    assert_eq!(bed.has_no_server(), 2);
    assert_eq!(bed.resets().len(), 3 * 8);
    assert_eq!(
        bed.resets()[..3],
        ["/reset_prefix_cache", "/reset_mm_cache", "/reset_encoder_cache"]
    );
    let summary = bed.json("results/e/SERVE--small-BENCH--max_concurrency=1/summary.json");
    assert_eq!(summary[1], bed.json("results/e/SERVE--small-BENCH--max_concurrency=1/run=1.json"));
    assert_eq!(summary[1]["run_number"], json!(1));
    assert_eq!(
        bed.text("results/e/summary.csv").lines().take(3).collect::<Vec<_>>(),
        [
            ",request_throughput,mean_e2el_ms,output_throughput,run_number,_benchmark_name,tp,max_concurrency,x,fast",
            "0,0.5,1.5,5.0,0,small,1,1,,",
            "1,0.5,1.5,5.0,1,small,1,1,,",
        ],
    );
}

#[test]
fn a_sweep_that_was_killed_leaves_no_server_and_goes_on() {
    let bed = TestBed::set();
    bed.parameters("bench.json", &json!([{"max_concurrency": 1}, {"max_concurrency": 7}]));
    let sweep = ["--bench-params", "bench.json", "-e", "e", "--num-runs", "1"];
    let killed = bed.serve("serve", &sweep);
    assert_eq!(killed.status.code(), None, "{}", text(&killed.stdout));
    assert_eq!(bed.has_no_server(), 1);
    let again = bed.serve("serve", &sweep);
    assert!(text(&again.stderr).contains("--resume goes on with it"), "{}", text(&again.stderr));
    assert_eq!(again.status.code(), Some(2));
    let resumed = bed.serve("serve", &[&sweep[..], &["--resume"]].concat());
    let printed = is_well(&resumed);
    assert_eq!(printed.matches("[SKIPPED BENCHMARK]").count(), 1, "{printed}");
    let benches = bed.text("benches");
    let limits: Vec<&str> = benches.lines().filter_map(|line| line.split(' ').nth(3)).collect();
    assert_eq!(limits, ["1", "7", "7"], "what was measured is not measured again");
    assert_eq!(bed.has_no_server(), 2);
    let whole = bed.serve("serve", &[&sweep[..], &["--resume"]].concat());
    assert!(!is_well(&whole).contains("[BEGIN SERVER]"), "nothing is left to measure");
}

#[test]
fn what_fails_is_told_in_a_file_if_the_sweep_is_to_go_on() {
    let bed = TestBed::set();
    bed.parameters("bench.json", &json!([{"max_concurrency": 9}, {"max_concurrency": 1}]));
    let sweep = ["--bench-params", "bench.json", "--num-runs", "1", "--warmup-num-prompts", "4"];
    let strict = bed.serve("serve", &[&sweep[..], &["-e", "strict"]].concat());
    assert_eq!(strict.status.code(), Some(1));
    let why = text(&strict.stderr);
    assert!(why.contains("Use `--resume`") && why.contains("exit status: 3"), "{why}");
    let run = bed.serve("serve", &[&sweep[..], &["-e", "e", "--continue-on-error"]].concat());
    let stdout = is_well(&run);
    assert_eq!(stdout.matches("[FAILED BENCHMARK]").count(), 2, "{stdout}");
    assert!(stdout.contains("[NO SUCCESSFUL MEASURED RUNS]"), "{stdout}");
    let failure = bed.json("results/e/BENCH--max_concurrency=9/run=0.failure.json");
    assert_eq!(failure["bench_overrides"], json!({"max_concurrency": 9}));
    let warmup = bed.json("results/e/BENCH--max_concurrency=1/warmup.json");
    assert_eq!((&warmup["run_number"], &warmup["num_prompts"]), (&json!(-1), &json!(4)));
    assert!(!bed.text("results/e/summary.csv").contains("num_prompts"), "it is not measured");
}

#[test]
fn levels_of_load_lie_between_the_two_ends() {
    let bed = TestBed::set();
    bed.parameters("bench.json", &json!([{"num_prompts": 20}]));
    let more =
        ["-e", "e", "--num-runs", "1", "--workload-iters", "4", "--bench-params", "bench.json"];
    let stdout = is_well(&bed.serve("serve_workload", &more));
    let steps: Vec<&str> = stdout.lines().filter(|line| line.contains(": request_rate=")).collect();
    assert_eq!(
        steps,
        [
            "Serial inference: request_rate=1",
            "Batch inference: request_rate=10",
            "Exploring: request_rate=4",
            "Exploring: request_rate=7",
        ]
    );
    let csv = bed.text("results/e/summary.csv");
    let rates = csv.lines().map(|line| line.rsplit(',').next().unwrap());
    assert_eq!(rates.collect::<Vec<_>>(), ["request_rate", "1", "4", "7", "20"], "{csv}");
    let batch = "BENCH--num_prompts=20-max_concurrency=20-WL--request_rate=20/summary.json";
    assert!(bed.path("results/e").join(batch).exists());
    let variable = ["--workload-var", "max_concurrency"];
    bed.parameters("bench.json", &json!([{"max-concurrency": 20}]));
    let refused = bed.serve("serve_workload", &[&more[..], &variable].concat());
    assert!(text(&refused.stderr).contains("You should not override `max_concurrency`"));
}

#[test]
fn a_dry_run_starts_nothing() {
    let bed = TestBed::set();
    let stdout = is_well(&bed.serve("serve", &["-e", "e", "--dry-run", "--num-runs", "1"]));
    assert!(stdout.ends_with("Experiment will be saved at: results/e\n"), "{stdout}");
    assert_eq!((bed.text("servers"), bed.text("benches")), (String::new(), String::new()));
    assert!(!bed.path("results").exists());
}

#[test]
fn caches_that_cannot_be_emptied_are_refused_before_the_start() {
    let bed = TestBed::set();
    let sweep =
        ["vllm", "bench", "sweep", "serve", "--serve-cmd", "./other", "--bench-cmd", "./bench"];
    let run = servemark(&bed.folder, &sweep);
    assert!(text(&run.stderr).contains("--after-bench-cmd"), "{}", text(&run.stderr));
    let more = ["--after-bench-cmd", "touch emptied", "--num-runs", "1", "-e", "e"];
    is_well(&bed.serve("serve", &more));
    assert!(bed.path("emptied").exists());
    assert!(bed.resets().is_empty());
}

#[test]
fn starts_are_measured_by_the_users_command() {
    let bed = TestBed::set();
    bed.script(
        "start",
        "#!/bin/sh\nif [ \"$1\" = --help=all ]; then echo 'x [--load-format F] --[no-]eager --output-json P'; exit; fi\n\
         echo \"{\\\"args\\\": \\\"$*\\\"}\" > \"$4\"\n",
    );
    bed.parameters("serve.json", &json!([{"load-format": "dummy", "port": 1}]));
    let sweep = [
        "vllm",
        "bench",
        "sweep",
        "startup",
        "--startup-cmd",
        "./start",
        "--serve-params",
        "serve.json",
        "-e",
        "e",
    ];
    let stdout = is_well(&servemark(&bed.folder, &sweep));
    assert!(
        stdout.contains("Ignoring unsupported startup params for load-format=dummy-port=1: port\n"),
        "{stdout}"
    );
    let result = bed.json("results/e/SERVE--load-format=dummy/summary.json");
    let args = "--load-format dummy --output-json results/e/SERVE--load-format=dummy/run=0.json";
    assert_eq!(result, json!([{"args": args, "run_number": 0, "load-format": "dummy"}]));
    let strict = servemark(&bed.folder, &[&sweep[..9], &["f", "--strict-params"]].concat());
    assert_eq!(strict.status.code(), Some(1), "{}", text(&strict.stderr));
}

fn is_picture(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x89PNG\r\n"))
}

#[test]
fn results_are_plotted() {
    let bed = TestBed::set();
    let run = |tp: u32, limit: u32| {
        json!({"tp": tp, "max_concurrency": limit, "output_throughput": 100.0 * f64::from(limit * tp),
               "total_token_throughput": 200.0 * f64::from(limit), "median_ttft_ms": 10.0 + f64::from(limit * tp)})
    };
    for tp in [1, 2] {
        fs::create_dir_all(bed.path(&format!("e/{tp}"))).unwrap();
        let runs = [run(tp, 1), run(tp, 2), run(tp, 4)];
        bed.parameters(&format!("e/{tp}/summary.json"), &json!(runs));
    }
    let plot = ["vllm", "bench", "sweep", "plot", "e", "--curve-by", "tp", "--fig-dpi", "50"];
    let stdout = is_well(&servemark(&bed.folder, &plot));
    assert!(stdout.contains("Grid: 1 rows x 1 cols\nOutput file: e/FIGURE.png\n"), "{stdout}");
    assert!(is_picture(&bed.path("e/FIGURE.png")));
    assert!(bed.text("e/FIGURE.svg").contains("tp=2"));
    let by = ["--fig-by", "tp", "--fig-dir", "figs", "--fig-name", "F", "--filter-by", "tp==1"];
    let stdout = is_well(&servemark(&bed.folder, &[&plot[..5], &by].concat()));
    assert!(
        stdout.contains("Group: {'tp': '2'}") && stdout.contains("No data to plot"),
        "{stdout}"
    );
    assert!(is_picture(&bed.path("e/figs/F-tp=1.png")));
    let stdout = is_well(&servemark(&bed.folder, &["vllm", "bench", "sweep", "plot_pareto", "e"]));
    assert!(stdout.contains("Plotted 6 points; Pareto frontier size: 2."), "{stdout}");
    assert!(is_picture(&bed.path("e/pareto/PARETO.png")));
    let wrong = servemark(&bed.folder, &[&plot[..5], &["--var-x", "nothing"]].concat());
    assert!(
        text(&wrong.stderr).contains("var_x=\"nothing\" is in no result"),
        "{}",
        text(&wrong.stderr)
    );
}

#[test]
fn vllms_benchmark_is_run_by_this_program() {
    let bed = TestBed::set();
    let url = bed.mock.base_url();
    let tokenizer = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/gpt2");
    let server =
        format!("./vllm serve m --host=127.0.0.1 --port={}", url.rsplit(':').next().unwrap());
    let bench = format!(
        "vllm bench serve --base-url {url} --model mock --tokenizer {tokenizer} --dataset-name random \
         --random-input-len 8 --random-output-len 4 --num-prompts 3"
    );
    bed.parameters("bench.json", &json!([{"max_concurrency": 2, "request_rate": "inf"}]));
    let sweep = ["vllm", "bench", "sweep", "serve", "--serve-cmd", &server, "--bench-cmd", &bench];
    let more = ["--bench-params", "bench.json", "--num-runs", "1", "-e", "e"];
    let stdout = is_well(&servemark(&bed.folder, &[&sweep[..], &more].concat()));
    assert!(!stdout.contains("Serving Benchmark Result"), "{stdout}");
    let result = bed.json("results/e/BENCH--max_concurrency=2-request_rate=inf/run=0.json");
    assert_eq!((&result["completed"], &result["total_output_tokens"]), (&json!(3), &json!(12)));
    assert!(result["p99_e2el_ms"].is_number(), "{result}");
    assert_eq!((&result["run_number"], &result["max_concurrency"]), (&json!(0), &json!(2)));
    assert_eq!(bed.has_no_server(), 1);
}

#[test]
fn any_flag_can_be_swept() {
    let folder = tempfile::tempdir().unwrap();
    let run = |more: &[&str]| {
        let line = "bench-serving --simulate ttft=2ms,itl=1ms --num-prompts 4 --random-input 8 \
                    --random-output 4 --sweep max-concurrency=1,2 --sweep-folder f --sweep-file a.html";
        let line: Vec<&str> = line.split_whitespace().collect();
        servemark(&folder, &[&line[..], more].concat())
    };
    let first = run(&[]);
    let stdout = is_well(&first);
    assert_eq!(stdout.matches("Serving Benchmark Result").count(), 2, "{stdout}");
    assert!(stdout.contains("| max_concurrency | ok | failed |"), "{stdout}");
    let page = fs::read_to_string(folder.path().join("a.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("max_concurrency"), "{page}");
    let again = run(&[]);
    assert!(!is_well(&again).contains("Serving Benchmark Result"), "it is measured already");
    assert!(text(&again.stderr).contains("Point 2 of 2 was measured already: max_concurrency=2"));
    let other = run(&["--seed", "9"]);
    assert_eq!(other.status.code(), Some(2), "{}", text(&other.stderr));
    assert!(text(&other.stderr).contains("f holds another sweep or search than this one"));
}
