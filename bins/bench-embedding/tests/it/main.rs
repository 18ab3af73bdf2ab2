//! Runs the program against the simulator, as a user does.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use servemark_mock::{MockServer, MockSpec};
use tempfile::TempDir;

fn run(folder: &TempDir, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench-embedding"));
    command.args(args).current_dir(folder.path()).stdin(Stdio::null());
    for variable in ["API_KEY", "OPENAI_API_KEY", "SGLANG_IS_IN_CI"] {
        command.env_remove(variable);
    }
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn value(table: &str, label: &str) -> f64 {
    let line = table.lines().find(|line| line.starts_with(label)).expect(label);
    line[label.len()..].trim().parse().expect("a number")
}

/// Flags of a small run against the simulator.
const SMALL: [&str; 9] = [
    "--simulate",
    "ttft=2ms",
    "--num-prompts",
    "12",
    "--random-input-len",
    "16",
    "--disable-tqdm",
    "--output-file",
    "result.jsonl",
];

/// Makes the server of [`SMALL`] so slow that a client that shares its core is seldom the limit.
const SLOW: [&str; 2] = ["--simulate", "ttft=25ms"];

#[test]
fn a_run_counts_requests_and_items() {
    let folder = TempDir::new().unwrap();
    let flags = ["--batch-size", "8", "--max-concurrency", "2", "--run-log", "run.jsonl"];
    let output = run(&folder, &[&SMALL[..], &flags].concat());
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(table.contains("= Embedding report ="), "{table}");
    assert!(table.contains("\nclient audit "), "{table}");
    let beginnings = [
        "benchmark_args=Namespace(backend='sglang-embedding', base_url='http://127.0.0.1:",
        "Namespace(backend='sglang-embedding', base_url='http://127.0.0.1:",
        "#Input tokens: ",
        "Starting warmup with 1 sequences...",
        "Warmup completed with 1 sequences. Starting main benchmark run...",
    ];
    let mut lines = table.lines();
    for beginning in beginnings {
        assert!(lines.any(|line| line.starts_with(beginning)), "{beginning}\n{table}");
    }
    let is = |label: &str, expected: f64| (value(&table, label) - expected).abs() < f64::EPSILON;
    assert!(is("items per request", 8.0) && is("ok", 12.0) && is("failed", 0.0), "{table}");
    let ratio = value(&table, "items/s") / value(&table, "requests/s");
    assert!((ratio - 8.0).abs() < 0.01, "{table}");
    assert!(value(&table, "mean (ms)") >= 2.0, "{table}");
    assert!(value(&table, "bytes per item") > 0.0, "{table}");
    let score = fs::read_to_string(folder.path().join("run.jsonl")).unwrap();
    assert_eq!(score.lines().count(), 1 + 1 + 12 + 1);
}

/// Returns the only folder of results that a command has made.
fn results(folder: &TempDir) -> PathBuf {
    let mut made = fs::read_dir(folder.path().join("servemark-results")).unwrap();
    let first = made.next().expect("a folder of results").unwrap().path();
    assert!(made.next().is_none(), "there is only one");
    first
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_run_leaves_its_results_in_a_folder_of_its_own() {
    let folder = TempDir::new().unwrap();
    let output = run(&folder, &SMALL[..7]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(names(folder.path()), ["servemark-results"]);
    let kept = results(&folder);
    assert_eq!(names(&kept), ["report.html", "run.runlog.jsonl", "summary.json"]);
    let page = fs::read_to_string(kept.join("report.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    let line = format!("Results: servemark-results/{}\n", kept.file_name().unwrap().display());
    assert!(text(&output.stderr).contains(&line), "{}", text(&output.stderr));
    // A log of another name is all that is left of a run.
    let other = TempDir::new().unwrap();
    let output = run(&other, &[&SMALL[..], &["--run-log", "run.jsonl"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(names(other.path()), ["result.jsonl", "run.jsonl"]);
}

#[test]
fn a_grid_and_a_search_leave_their_results_in_a_folder_of_their_own() {
    let search = "--slo e2el:p50<60s --slo-search max-concurrency --slo-bounds 1,2 --slo-start 1 \
                  --slo-requests 20 --slo-duration 0.01";
    for more in ["--sweep batch-size=1,2", search] {
        let folder = TempDir::new().unwrap();
        let more: Vec<&str> = more.split_whitespace().collect();
        let output = run(&folder, &[&SMALL[..7], &more].concat());
        // A search on a busy machine may stay undecided.
        assert!(matches!(output.status.code(), Some(0 | 6)), "{}", text(&output.stderr));
        assert_eq!(names(folder.path()), ["servemark-results"]);
        let kept = names(&results(&folder));
        for name in ["report.html", "summary.json", "sweep.json"] {
            assert!(kept.iter().any(|kept| kept == name), "{name}: {kept:?}");
        }
    }
}

#[test]
fn json_is_one_document_without_any_other_line() {
    let folder = TempDir::new().unwrap();
    let output = run(&folder, &[&SMALL[..], &["--json", "--out", "kept"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "servemark/score/1");
    let summary = fs::read(folder.path().join("kept/summary.json")).unwrap();
    assert_eq!(text(&summary), text(&output.stdout));
    let again = run(&folder, &[&SMALL[..], &["--out", "kept"]].concat());
    assert_eq!(again.status.code(), Some(2), "results are not mixed with others");
}

#[test]
fn base64_is_shorter_than_decimal_numbers() {
    let folder = TempDir::new().unwrap();
    let bytes = |format| {
        let flags = ["--encoding-format", format, "--dimensions", "256", "--no-run-log"];
        let output = run(&folder, &[&SMALL[..], &flags].concat());
        value(&text(&output.stdout), "bytes per item")
    };
    // 256 floats are 1,368 characters of base64; the simulator writes a number with four or five
    // characters.
    let (float, base64) = (bytes("float"), bytes("base64"));
    assert!((1_368.0..1_600.0).contains(&base64) && float > base64, "{float} {base64}");
}

#[test]
fn the_table_of_a_grid_is_made_again_from_its_folder() {
    let folder = TempDir::new().unwrap();
    let sweep = ["--sweep", "batch-size=1,4", "--sweep-folder", "night"];
    let line = |file| [&SMALL[..], &sweep, &["--grid-file", file]].concat();
    let first = run(&folder, &line("one.csv"));
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    let results = fs::read_to_string(folder.path().join("result.jsonl")).unwrap();
    let again = run(&folder, &line("two.csv"));
    let news = text(&again.stderr);
    assert_eq!(again.status.code(), Some(0), "{news}");
    assert!(news.contains("Point 2 of 2 was measured already"), "{news}");
    let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
    assert_eq!(read("one.csv"), read("two.csv"));
    assert!(news.ends_with("\nResults: night\n"), "{news}");
    assert!(read("night/report.html").contains("<title>Sweep · Servemark</title>"));
    let summary: Value = serde_json::from_str(&read("night/summary.json")).unwrap();
    assert_eq!(summary["points"].as_array().unwrap().len(), 2, "{summary}");
    assert_eq!(read("result.jsonl"), results, "nothing is measured or appended again");
    let unwritable = run(&folder, &line("absent/three.csv"));
    assert_eq!(unwritable.status.code(), Some(2), "{}", text(&unwritable.stderr));
}

#[test]
fn the_runs_before_one_that_fails_are_in_the_table_of_a_grid() {
    let folder = TempDir::new().unwrap();
    let grid = ["--sweep", "batch-size=1,4", "--output-file", "/dev/full"];
    let output = run(&folder, &[&SMALL[..7], &grid].concat());
    let (table, news) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{news}");
    assert!(table.lines().any(|line| line.starts_with("| 1 |")), "{table}\n{news}");
    assert!(news.contains("cannot append the result to /dev/full"), "{news}");
}

#[test]
fn a_grid_has_a_run_for_every_pair_and_one_table() {
    let folder = TempDir::new().unwrap();
    let sweep = ["--sweep", "batch-size=1,4", "max-concurrency=1,3"];
    let sweep = [&sweep[..], &["--run-log", "grid.jsonl", "--overwrite"]].concat();
    for (file, rows) in [("grid.md", 2 + 4), ("grid.csv", 1 + 4), ("grid.json", 0)] {
        let output = run(&folder, &[&SMALL[..], &sweep, &["--grid-file", file]].concat());
        let (table, news) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{news}");
        // A table of one run's figures is wider than 80 columns, so it stands in several.
        for part in table.trim_end().split("\n\n") {
            assert_eq!(part.lines().count(), 2 + 4, "{table}");
        }
        assert!(news.contains("Point 4 of 4: items=4,max_concurrency=3"), "{news}");
        let written = fs::read_to_string(folder.path().join(file)).unwrap();
        if rows > 0 {
            assert_eq!(written.lines().count(), rows, "{written}");
        }
    }
    let grid = fs::read_to_string(folder.path().join("grid.json")).unwrap();
    let grid: Value = serde_json::from_str(&grid).unwrap();
    assert_eq!(grid["schema"], "servemark/grid/1");
    let grid = grid["points"].as_array().unwrap();
    let pairs: Vec<_> = grid
        .iter()
        .map(|point| (point["items_per_request"].as_u64(), point["max_concurrency"].as_u64()))
        .collect();
    let pair = |items, limit| (Some(items), Some(limit));
    assert_eq!(pairs, [pair(1, 1), pair(1, 3), pair(4, 1), pair(4, 3)]);
    assert!(grid.iter().all(|point| point["completed"] == 12 && point["failed"] == 0));
    for name in ["grid_1x1.jsonl", "grid_1x3.jsonl", "grid_4x1.jsonl", "grid_4x3.jsonl"] {
        assert!(folder.path().join(name).exists(), "{name}");
    }
}

#[test]
fn rankings_are_asked_for_and_counted_by_document() {
    let spec = MockSpec { keep_requests: 16, ..MockSpec::default() };
    let server = MockServer::start(spec).unwrap();
    let folder = TempDir::new().unwrap();
    let tokenizer = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/gpt2");
    let url = server.base_url();
    let target = ["--base-url", &url, "--model", "mock", "--tokenizer", tokenizer];
    let flags = ["--task", "rerank", "--documents", "3", "--num-prompts", "4"];
    let more = ["--random-input-len", "8", "--no-run-log", "--output-file", "result.jsonl"];
    let output = run(&folder, &[&target[..], &flags, &more].concat());
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(table.contains("= Rerank report ="), "{table}");
    assert!((value(&table, "items per request") - 3.0).abs() < f64::EPSILON, "{table}");
    let requested = server.requests().into_iter().filter(|request| request.path == "/v1/rerank");
    let bodies: Vec<Value> =
        requested.map(|request| serde_json::from_slice(&request.body).unwrap()).collect();
    assert_eq!(bodies.len(), 5, "four and the warm-up");
    assert!(bodies.iter().all(|body| body["documents"].as_array().unwrap().len() == 3));
}

#[test]
fn a_failed_answer_is_a_failure() {
    let folder = TempDir::new().unwrap();
    let faults = ["--simulate-fault", "empty/2", "--warmup-requests", "0", "--no-run-log"];
    let output = run(&folder, &[&SMALL[..], &faults].concat());
    let (table, news) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(5), "{news}");
    assert!(news.ends_with("\n6 of 12 requests failed: 6 empty answer\n"), "{news}");
    assert!((value(&table, "failed") - 6.0).abs() < f64::EPSILON, "{table}");
    assert!(table.contains("  empty: 6 x "), "{table}");
}

#[test]
fn a_share_of_failures_that_is_tolerated_is_no_reason_to_fail() {
    let folder = TempDir::new().unwrap();
    let faults = ["--simulate-fault", "empty/2", "--warmup-requests", "0", "--no-run-log"];
    let tolerant = ["--tolerate-failures", "0.5"];
    let output = run(&folder, &[&SMALL[..], &faults, &tolerant].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).ends_with("\n6 of 12 requests failed: 6 empty answer\n"));
    let output = run(&folder, &[&SMALL[..], &["--no-run-log"]].concat());
    assert!(!text(&output.stderr).contains("requests failed"), "{}", text(&output.stderr));
}

#[test]
fn a_run_that_keeps_to_its_objectives_passes_and_any_other_does_not() {
    let folder = TempDir::new().unwrap();
    // One after the other: requests that queue behind each other have correlated times.
    let alone = ["--no-run-log", "--num-prompts", "24", "--max-concurrency", "1"];
    for (objective, code) in [("e2el:p50<60s,success>=50%", 0), ("e2el:p50<1us", 3)] {
        let output = run(&folder, &[&SMALL[..], &SLOW, &alone, &["--slo", objective]].concat());
        let error = text(&output.stderr);
        // On a busy machine the client is the limit, and then no objective is judged.
        let is_limited = error.contains("not judged: the client was the limit");
        let code = if is_limited { 6 } else { code };
        assert_eq!(output.status.code(), Some(code), "{objective}: {error}");
        assert!(error.contains("e2el:p50<"), "{error}");
    }
}

#[test]
fn a_search_finds_the_largest_load_that_holds() {
    let folder = TempDir::new().unwrap();
    let search =
        ["--slo", "e2el:p50<60s", "--slo-search", "max-concurrency", "--slo-bounds", "1,4"];
    let more = ["--slo-start", "2", "--slo-requests", "40", "--slo-duration", "0.01"];
    let kept = ["--sweep-folder", "search", "--sweep-file", "search.json"];
    let output = run(&folder, &[&SMALL[..7], &SLOW, &search, &more, &kept].concat());
    let table = text(&output.stdout);
    // On a busy machine the client cannot offer every load, and the answer says so.
    let is_limited = table.contains("This client could not offer ");
    assert!(matches!(output.status.code(), Some(0 | 6)), "{}", text(&output.stderr));
    if !is_limited {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(table.contains('4'), "{table}");
    }
    let found: Value =
        serde_json::from_slice(&fs::read(folder.path().join("search.json")).unwrap()).unwrap();
    assert!(found.to_string().contains("max_concurrency"), "{found}");
    let page = fs::read_to_string(folder.path().join("search/report.html")).unwrap();
    assert!(page.contains("<title>Search · Servemark</title>"));
    let summary: Value =
        serde_json::from_slice(&fs::read(folder.path().join("search/summary.json")).unwrap())
            .unwrap();
    assert_eq!(summary, found);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let folder = TempDir::new().unwrap();
    for (line, words) in [
        ("--backend vllm", "vllm generates text; bench-serving measures that"),
        ("--task rerank --backend vllm-embedding", "--task does not go with"),
        ("--task rank", "expected embed or rerank, got 'rank'"),
        ("--sweep batch-size=0", "expected KEY=N,N"),
        ("--sweep size=1", "expected KEY=N,N"),
        ("--task rerank --sweep batch-size=2", "does not go with --backend sglang-rerank"),
        ("--sweep batch-size=2 --grid-file grid.txt", "expected a name in .md, .csv or .json"),
        ("--grid-file grid.md", "--grid-file has no effect without --sweep"),
        ("--task rerank --dimensions 8", "--dimensions only applies to --backend"),
        ("--dimensions 0", "--dimensions must be 1 or more, not 0"),
        ("--slo tpot:p99<5ms", "--slo tpot:p99<5ms is about tokens, and embeddings"),
        ("--slo mlperf:llama2-70b", "--slo ttft:p99<=2000ms is about tokens"),
        ("--slo-search request-rate", "--slo-search needs objectives"),
        ("--sweep-folder f", "--sweep-folder has no effect without --slo-search"),
        (
            "--slo e2el:p99<1s --slo-search request-rate --sweep batch-size=1,2",
            "--sweep and --slo-search do not go together",
        ),
        ("--out f --no-run-log", "--no-run-log"),
        ("--out f --sweep batch-size=1,2 --sweep-folder g", "--sweep-folder"),
        ("--encoding-format hex", "expected float or base64, got 'hex'"),
    ] {
        let output = run(&folder, &line.split(' ').collect::<Vec<_>>());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {error}");
        assert!(error.contains(words), "{line}: {error}");
    }
}
