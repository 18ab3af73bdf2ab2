//! Runs that end when a figure is known precisely enough.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::{RUN, servemark, text};

/// Far more requests than needed, even if the load of other processes makes latencies correlated.
const MANY: [&str; 4] = ["--num-prompt", "20000", "--request-rate", "400"];

/// Returns the requests of the run log, and its footer.
fn lines(folder: &TempDir) -> (Vec<Value>, Value) {
    let text = fs::read_to_string(folder.path().join("run.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    let measured = |line: &&Value| line["request"]["phase"] == "measure";
    let footer = lines.last().unwrap()["footer"].clone();
    (lines.iter().filter(measured).cloned().collect(), footer)
}

#[test]
fn a_run_ends_when_its_figure_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let until = ["--until", "ttft:p50+-5000ms"];
    let run = servemark(&folder, &[&RUN[..], &MANY, &until].concat());
    let news = text(&run.stderr);
    assert_eq!(run.status.code(), Some(0), "{news}");
    assert!(news.contains("Every figure of --until is known after "), "{news}");
    assert!(news.contains("ttft:p50+-5000ms is known: "), "{news}");
    let (measured, footer) = lines(&folder);
    let judged = footer["early_stop"]["requests"].as_u64().unwrap();
    assert!(judged >= 50 && measured.len() as u64 >= judged, "{footer}");
    assert!(measured.len() < 20_000 && footer["interrupted"] == false, "{footer}");
    // Requests in flight were completed.
    assert!(measured.iter().all(|line| !line["request"]["outcome"]["Ok"].is_null()));
    let score = servemark(&folder, &["score", "run.jsonl", "--json"]);
    let document: Value = serde_json::from_slice(&score.stdout).unwrap();
    let known = &document["until"][0];
    assert_eq!((known["target"].as_str(), known["is_known"].as_bool()), {
        (Some("ttft:p50+-5000ms"), Some(true))
    });
    assert!(known["estimate"]["confidence"].as_f64().unwrap() > 0.99, "{known}");
}

#[test]
fn a_run_that_ends_before_its_figure_is_known_is_undecided() {
    let folder = tempfile::tempdir().unwrap();
    let until = ["--num-prompt", "60", "--until", "e2el:mean+-0.001%"];
    let run = servemark(&folder, &[&RUN[..], &until].concat());
    let news = text(&run.stderr);
    assert_eq!(run.status.code(), Some(6), "{news}");
    assert!(news.contains("error: --until: e2el:mean+-0.001% is undecided: "), "{news}");
    let (measured, footer) = lines(&folder);
    assert_eq!((measured.len(), &footer["early_stop"]), (60, &Value::Null));
    assert_eq!(servemark(&folder, &["score", "run.jsonl"]).status.code(), Some(6));
}

/// Runs a peer's command line that plans far more requests than needed, and returns how many were
/// measured.
#[track_caller]
fn measured_until_known(line: &str, logs: &str) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let args: Vec<&str> = line.split_whitespace().collect();
    let run = servemark(&folder, &args);
    let news = text(&run.stderr);
    assert_eq!(run.status.code(), Some(0), "{news}");
    assert!(news.contains("ttft:p50+-5000ms is known: "), "{news}");
    let log = walk(&folder.path().join(logs)).expect("a run log");
    let log = fs::read_to_string(log).unwrap();
    log.matches("\"phase\":\"measure\"").count()
}

/// Returns the first run log in a folder and the folders below it.
fn walk(folder: &Path) -> Option<PathBuf> {
    let inside = fs::read_dir(folder).ok()?.map(|entry| entry.unwrap().path());
    inside.into_iter().find_map(|path| {
        if path.is_dir() {
            return walk(&path);
        }
        path.to_string_lossy().ends_with(".runlog.jsonl").then_some(path)
    })
}

#[test]
fn runs_of_evalscope_and_aisbench_end_when_their_figure_is_known() {
    let evalscope = "evalscope perf --model m --simulate ttft=500ms,itl=1ms --prompt hello --max-tokens 4 \
                     --parallel 20 -n 40000 --outputs-dir out --until ttft:p50+-5000ms";
    assert!((50..40_000).contains(&measured_until_known(evalscope, "out")));
    let aisbench = "ais_bench --models vllm_api_stream_chat --datasets synthetic_gen_string \
                    --set datasets.config.RequestCount=40000 --batch-size 20 -m perf \
                    --simulate ttft=500ms,itl=1ms --until ttft:p50+-5000ms";
    assert!((50..40_000).contains(&measured_until_known(aisbench, "outputs")));
}

#[test]
fn a_run_is_valid_or_invalid_by_the_rules_of_mlperf() {
    let folder = tempfile::tempdir().unwrap();
    servemark(&folder, &RUN);
    let rules = ["score", "run.jsonl", "--slo", "mlperf:llama2-70b", "--profile", "mlperf"];
    let score = servemark(&folder, &rules);
    let news = text(&score.stderr);
    assert_eq!(score.status.code(), Some(3), "{news}");
    assert!(news.contains("MLPerf, Server scenario: INVALID\n"), "{news}");
    assert!(news.contains("  min duration: NO, "), "{news}");
    assert!(news.contains("0 of 10 over it, 449 more within it needed"), "{news}");
    let json = servemark(&folder, &[&rules[..], &["--json"]].concat());
    let document: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(document["mlperf"]["is_valid"], false);
    assert_eq!(document["mlperf"]["limits"].as_array().unwrap().len(), 2);
}
