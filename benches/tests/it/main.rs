//! The overhead study on a small load, as a user starts it.

#![cfg(target_os = "linux")]

mod prepare;

use std::process::{Command, Output};

use serde_json::Value;

fn overhead(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_overhead")).args(args).output().expect("it starts")
}

/// The smallest loads that have gaps.
const SMALL: [&str; 10] =
    ["--streams", "1,3", "--tokens", "5", "--ttft-ms", "5", "--itl-ms", "2", "--runs", "1"];

#[test]
fn a_small_study_gives_a_table_and_its_raw_figures() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study.json");
    let rest = ["--markdown", "--out", out.to_str().unwrap()];
    let output = overhead(&[&SMALL[..], &rest].concat());
    let (table, news) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{news}");
    for row in [
        "| 1 at once | bare reader |",
        "| 3 at once | bare reader, stamped |",
        "| 3 staggered, CPU hog | chat |",
        "| 64 flooded | `/generate` |",
        "| 64 flooded, 64 events a write | chat by hyper |",
    ] {
        assert!(table.contains(row), "{table}");
    }
    let study: Value = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
    let cases = study["streams"].as_array().unwrap();
    assert_eq!(cases.len(), 3 * 4 + 5 + 4);
    for case in cases {
        let figures = &case["runs"][0]["figures"];
        assert!(figures["cpu_us_per_chunk"].as_f64().unwrap() > 0.0, "{case}");
        assert!(figures["chunks_per_read"].as_f64().unwrap() >= 1.0, "{case}");
        // Nothing arrives before it was sent.
        let [reported, truth] =
            ["reported", "truth"].map(|key| figures["mean_ttft"][key].as_f64().unwrap());
        assert!(reported > truth, "{case}");
    }
}

#[test]
fn a_plan_runs_nothing() {
    let output = overhead(&[&SMALL[..], &["--plan", "--only", "burst-3"]].concat());
    let plan = text(output.stdout);
    assert!(output.status.success());
    assert_eq!(plan.lines().count(), 4, "{plan}");
    assert!(plan.contains("burst-3, chat\n") && plan.contains("1 runs of that"), "{plan}");
}

#[test]
fn a_wrong_flag_is_named() {
    let output = overhead(&["--stream", "3"]);
    assert!(!output.status.success());
    assert!(text(output.stderr).contains("there is no flag --stream"));
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("it writes text")
}
