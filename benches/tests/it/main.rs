//! The overhead study on a small load, as a user starts it.

#![cfg(target_os = "linux")]

mod prepare;

use std::process::{Command, Output};

use serde_json::Value;

fn overhead(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_overhead")).args(args).output().expect("it starts")
}

#[test]
fn a_small_study_gives_a_table_and_its_raw_figures() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study.json");
    let load = ["--streams", "3", "--tokens", "5", "--ttft-ms", "5", "--itl-ms", "2"];
    let rest = ["--runs", "1", "--markdown", "--out", out.to_str().unwrap()];
    let output = overhead(&[&load[..], &rest].concat());
    let (table, news) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{news}");
    for row in ["| 3 | burst | floor |", "| 3 | staggered | /generate |", "| 64 | flood | chat |"] {
        assert!(table.contains(row), "{table}");
    }
    let study: Value = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
    let cases = study["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 12);
    for case in cases {
        let figures = &case["runs"][0];
        assert!(figures["cpu_us_per_chunk"].as_f64().unwrap() > 0.0, "{case}");
        assert!(figures["chunks_per_read"].as_f64().unwrap() >= 1.0, "{case}");
        // Nothing arrives before it was sent.
        let [reported, truth] =
            ["reported", "truth"].map(|key| figures["mean_ttft"][key].as_f64().unwrap());
        assert!(reported > truth, "{case}");
    }
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
