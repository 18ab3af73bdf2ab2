//! Output fits the width that `COLUMNS` gives, and uses it.

use std::fs;
use std::process::Output;

use servemark_mock::{MockServer, MockSpec};
use tempfile::TempDir;

use super::{RUN, command, servemark, text};

/// Runs a command line with lines of `columns` columns.
fn in_columns(folder: &TempDir, columns: &str, args: &[&str]) -> Output {
    command(folder, args).env("COLUMNS", columns).output().unwrap()
}

/// Returns the lines of a command that are longer than 80 columns. A path is not broken, and the
/// arguments that SGLang's and vLLM's clients print are one line, as theirs are.
fn long_lines(output: &Output) -> Vec<String> {
    let all = [text(&output.stdout), text(&output.stderr)].concat();
    let is_whole = |line: &str| line.contains("Namespace(") || !line.trim().contains(' ');
    let long = all.lines().filter(|line| line.chars().count() > 80 && !is_whole(line));
    long.map(str::to_owned).collect()
}

#[test]
fn no_output_is_wider_than_80_columns() {
    let folder = tempfile::tempdir().unwrap();
    let server = MockServer::start(MockSpec::default()).unwrap();
    let url = server.base_url();
    servemark(&folder, &RUN);
    fs::copy(folder.path().join("run.jsonl"), folder.path().join("other.jsonl")).unwrap();
    let load = "--simulate ttft=2ms --num-prompts 12 --random-input 8 --random-output 4";
    let objectives = "--slo e2el:p50<60s --slo-search max-concurrency --slo-bounds 1,2 \
                      --slo-start 1 --slo-requests 20 --slo-duration 0.01";
    let twin = format!("--a {url} --b {url} --max-runs 2");
    let data = format!(
        "--num-prompts 4 --dataset-name random-ids --random-input 8 --random-output 4 --tokenizer \
         {}/../../fixtures/tokenizers/spm-unigram-botchan-1000",
        env!("CARGO_MANIFEST_DIR")
    );
    for line in [
        "score run.jsonl --slo ttft:p99<1s success>=99%",
        "score run.jsonl --full",
        "compare run.jsonl other.jsonl --fail-if mean_ttft_ms>+5% --no-worse-than 5%",
        &format!("bench-serving {load} --slo ttft:p99<1s --until ttft:p50+-10%"),
        &format!("bench-serving {load} --sweep max-concurrency=1,2"),
        &format!("bench-serving {load} {objectives}"),
        "bench-embedding --simulate ttft=2ms --num-prompts 4 --sweep batch-size=1,2",
        &format!("noise {url} --runs 2 --store noise.json -- {data}"),
        &format!("ab {twin} -- {data}"),
        "doctor --streams 4 --duration 0.1",
        "demo --duration 2 --output-len 4 --slo ttft:p50<1s",
        "demo --duration 2 --output-len 4 --full",
        "rerun run.jsonl",
        "rerun run.jsonl --full",
        "run absent.toml --set x",
        "export run.jsonl --parquet tables",
        "comapre a b",
        "score run.jsonl --layuot sglang",
        "compare absent.jsonl run.jsonl",
        "bench-serving --base-url http://127.0.0.1:1 --ready-check-timeout-sec 0 --dataset-name \
         random-ids --tokenizer absent",
    ] {
        let args: Vec<&str> = line.split_whitespace().collect();
        let output = in_columns(&folder, "80", &args);
        assert_eq!(long_lines(&output), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn no_help_is_wider_than_80_columns() {
    let folder = tempfile::tempdir().unwrap();
    for line in [
        "",
        "ab",
        "ais_bench",
        "bench-embedding",
        "bench-offline",
        "bench-serving",
        "compare",
        "completions",
        "demo",
        "doctor",
        "evalscope",
        "evalscope perf",
        "export",
        "http://gpu-box:8000",
        "launch",
        "man",
        "noise",
        "rerun",
        "run",
        "schema",
        "score",
        "vllm",
        "vllm bench latency",
        "vllm bench serve",
        "vllm bench sweep",
        "vllm bench sweep plot",
        "vllm bench sweep serve",
        "vllm bench throughput",
    ] {
        let args: Vec<&str> = line.split_whitespace().chain(["--help"]).collect();
        let output = in_columns(&folder, "80", &args);
        assert_eq!(output.status.code(), Some(0), "{line}");
        assert_eq!(long_lines(&output), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn a_wide_terminal_is_used_and_a_pipe_gets_whole_messages() {
    let folder = tempfile::tempdir().unwrap();
    servemark(&folder, &RUN);
    let score = ["score", "run.jsonl", "--full"];
    let heads = |output: &Output| {
        let table = text(&output.stdout);
        let times = table.lines().skip_while(|line| !line.starts_with("Service times"));
        times.take_while(|line| !line.is_empty()).filter(|line| line.ends_with("max")).count()
    };
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max();
    let [narrow, wide] = ["50", "160"].map(|columns| in_columns(&folder, columns, &score));
    assert_eq!((heads(&narrow), heads(&wide)), (1, 1));
    assert!(widest(&text(&narrow.stdout)) < widest(&text(&wide.stdout)));
    let piped = servemark(&folder, &score);
    let news = text(&piped.stderr);
    assert!(news.lines().any(|line| line.starts_with("Client audit: ")), "{news}");
    assert!(news.lines().all(|line| !line.starts_with("    ")), "{news}");
    let sweep = "bench-serving --simulate ttft=2ms --num-prompts 4 --sweep max-concurrency=1,2";
    let sweep: Vec<&str> = sweep.split(' ').collect();
    let tables = |columns| {
        let printed = text(&in_columns(&folder, columns, &sweep).stdout);
        printed.lines().filter(|line| line.starts_with("|---")).count()
    };
    assert!(tables("80") > 1);
    assert_eq!(tables("400"), 1);
}
