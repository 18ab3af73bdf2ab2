//! Two runs compared: what is judged of them, and what is not.

use std::fs;

use tempfile::TempDir;

use crate::{servemark, text};

/// A run against a simulator that fails every request, so that its client audit says suspect, or
/// client-limited on a machine that is busy.
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
    assert!(table.contains("no request succeeded, so there is nothing to hold"), "{table}");
    let gate = ["--fail-if", "duration>+5%"];
    let (code, _, news) = compare(&gate);
    assert_eq!(code, Some(3), "{news}");
    let refusal = "error: --fail-if duration>+5% is not judged: the client of A was ";
    assert!(news.starts_with(refusal), "{news}");
    let (code, table, news) = compare(&[&gate[..], &["--force"]].concat());
    assert_eq!(code, Some(0), "{news}");
    assert!(table.contains("\nJUDGED BY FORCE: "), "{table}");
}
