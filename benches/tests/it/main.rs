//! Runs the overhead study on a small load, as a user starts it.

#![cfg(target_os = "linux")]

mod memory;
mod prepare;
mod sampler;

use std::process::{Command, Output};

use serde_json::Value;

fn overhead(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_overhead")).args(args).output().expect("it starts")
}

/// The smallest loads that have gaps.
const SMALL: &str = "--streams 1,3 --tokens 5 --ttft-ms 5 --itl-ms 2 --runs 1 --requests 100 \
    --open-loop-ms 40 --servemark absent --programs bench-serving,sglang-rust";

#[test]
fn a_small_study_gives_a_table_and_its_raw_figures() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study.json");
    let rest = ["--markdown", "--out", out.to_str().unwrap()];
    let output = overhead(&small(&rest));
    let (table, news) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{news}");
    for row in [
        "| 1 at once | bare reader |",
        "| 3 at once | bare reader, stamped |",
        "| 3 staggered, CPU hog | chat |",
        "| 64 flooded | `/generate` |",
        "| 64 flooded, 64 events a write | chat by hyper |",
        "| one-token chat replies, 64 in flight | bare reader |",
        "| embeddings, 64 in flight | embeddings |",
        "| Poisson, 5000/s | chat |",
        "- bench-serving: absent/bench-serving is not there",
        "- sglang-rust: no --python was given",
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
        // No chunk arrives before it was sent.
        let [reported, truth] =
            ["reported", "truth"].map(|key| figures["mean_ttft"][key].as_f64().unwrap());
        assert!(reported > truth, "{case}");
    }
}

#[test]
fn a_study_that_is_kept_is_documented_without_another() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let study = root.join("study.json");
    std::fs::write(&study, include_str!("study.json")).unwrap();
    for folder in ["benches/results", "docs"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    let methodology = root.join("docs/methodology.md");
    let given = ["--from", study.to_str().unwrap(), "--docs", root.to_str().unwrap()];
    std::fs::write(&methodology, "no marks").unwrap();
    let output = overhead(&given);
    assert!(!output.status.success());
    assert!(text(output.stderr).contains("has no lines <!-- the overhead study"));

    let marks = include_str!("../../../docs/methodology.md");
    std::fs::write(&methodology, marks).unwrap();
    let output = overhead(&given);
    assert!(output.status.success(), "{}", text(output.stderr));
    let written = std::fs::read_to_string(&methodology).unwrap();
    assert!(
        written.contains("| 64 at once | sglang-rust | 25.000 (24.000..26.000) |"),
        "{written}"
    );
    assert!(written.contains("](plots/overhead-cpu.svg)"), "{written}");
    let picture = std::fs::read_to_string(root.join("docs/plots/overhead-itl-error.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("sglang-rust"), "{picture}");
    assert!(root.join("benches/results/overhead-2026-11-21.json").exists());
}

#[test]
fn a_plan_runs_nothing() {
    let output = overhead(&small(&["--plan", "--only", "burst-3"]));
    let plan = text(output.stdout);
    assert!(output.status.success());
    assert!(
        plan.contains("s  burst-3, chat\n")
            && !plan.contains("flood")
            && plan.contains("1 runs of that"),
        "{plan}"
    );
}

#[test]
fn a_wrong_flag_is_named() {
    let output = overhead(&["--stream", "3"]);
    assert!(!output.status.success());
    assert!(text(output.stderr).contains("there is no flag --stream"));
}

fn small<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SMALL.split_whitespace().chain(more.iter().copied()).collect()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("it writes text")
}
