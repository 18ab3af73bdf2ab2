//! Comparison of two runs.

use std::fs;

use tempfile::TempDir;

use crate::{servemark, text};

/// Runs against a simulator that fails every request, so that the client audit is suspect, or
/// client-limited on a busy machine.
fn fruitless(folder: &TempDir, log: &str) {
    let line = "bench-serving --simulate ttft=2ms,itl=1ms --num-prompts 12 --random-input-len 8 \
                --random-output-len 4 --simulate-fault status:500/1 --warmup-requests 0 \
                --tolerate-failures 1 --run-log";
    let args: Vec<&str> = line.split_whitespace().chain([log]).collect();
    let output = servemark(folder, &args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn no_condition_is_judged_on_a_run_whose_client_is_suspect_unless_forced() {
    let folder = tempfile::tempdir().unwrap();
    fruitless(&folder, "a.jsonl");
    fs::copy(folder.path().join("a.jsonl"), folder.path().join("b.jsonl")).unwrap();
    let compare = |more: &[&str]| {
        let output = servemark(&folder, &[&["compare", "a.jsonl", "b.jsonl"], more].concat());
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, table, _) = compare(&[]);
    assert_eq!(code, Some(0));
    assert!(table.contains("\nNOT JUDGED: "), "{table}");
    for side in ["A", "B"] {
        let doubt = format!("\n  the client of {side} was ");
        assert!(table.contains(&doubt), "{table}");
    }
    let unwrapped = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unwrapped.contains("no request succeeded, so there is nothing to hold"), "{table}");
    let gate = ["--fail-if", "duration>+5%"];
    let (code, _, news) = compare(&gate);
    assert_eq!(code, Some(6), "{news}");
    let refusal = "error: --fail-if duration>+5% is not judged: the client of A was ";
    assert!(news.starts_with(refusal), "{news}");
    let (code, table, news) = compare(&[&gate[..], &["--force"]].concat());
    assert_eq!(code, Some(0), "{news}");
    assert!(table.contains("\nJUDGED BY FORCE: "), "{table}");
}

/// Runs against a simulator whose first token takes `ttft_ms`.
fn run(folder: &TempDir, ttft_ms: u32, log: &str) {
    let line = format!(
        "bench-serving --simulate ttft={ttft_ms}ms,itl=1ms --num-prompts 40 --random-input-len 8 \
         --random-output-len 4 --max-concurrency 8 --warmup-requests 0 --run-log {log}"
    );
    let args: Vec<&str> = line.split_whitespace().collect();
    let output = servemark(folder, &args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn several_runs_a_side_are_compared_and_held_to_a_tolerance() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("old")).unwrap();
    for number in 1..=3 {
        run(&folder, 100, &format!("old/{number}.jsonl"));
        run(&folder, 200, &format!("new{number}.jsonl"));
    }
    let sides = ["--before", "old", "--after", "new1.jsonl", "new2.jsonl", "new3.jsonl"];
    let compare = |more: &[&str]| {
        let output = servemark(&folder, &[&["compare"], &sides[..], &["--force"], more].concat());
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, document, news) = compare(&["--json"]);
    assert_eq!(code, Some(0), "{news}");
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["runs"], serde_json::json!({"before": 3, "after": 3}));
    let changes = document["changes"].as_array().unwrap();
    let ttft = changes.iter().find(|change| change["figure"] == "ttft_ms.mean").unwrap();
    assert_eq!(ttft["basis"], "runs");
    let change = ttft["percent"].as_f64().unwrap();
    let ends = ["low_percent", "high_percent"].map(|end| ttft[end].as_f64().unwrap());
    assert!(ends[0] < change && change < ends[1] && change > 50.0, "{ttft}");
    let (code, _, news) = compare(&["--no-worse-than", "ttft:mean=1000%"]);
    assert_eq!(code, Some(0), "{news}");
    assert!(news.contains("note: Mean TTFT (ms) no worse than 1000 %: holds"), "{news}");
    let (code, _, news) = compare(&["--no-worse-than", "ttft:p12=1%"]);
    assert_eq!(code, Some(3), "{news}");
    let (code, table, _) = compare(&[]);
    assert_eq!(code, Some(0));
    assert!(table.contains("Between") && table.contains("A: 3 runs: old/1.jsonl"), "{table}");
}
