//! Runs the preparation study on small data sets, as a user starts it.

use std::process::{Command, Output};

fn prepare(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_prepare")).args(args).output().expect("it starts")
}

#[test]
fn a_small_study_gives_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    let output = prepare(&["--scale", "0.0005", "--folder", folder]);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for row in [
        "as text | 500 |",
        "as ids | 500 |",
        "of 500 MB | 5 |",
        "each | 10 |",
        "64 groups | 64 |",
        "512x512 | 1 |",
        "1080p | 5 |",
    ] {
        assert!(table.contains(row), "{table}");
    }
    let peaks = table.lines().skip(2).map(|row| row.split(" | ").nth(4).unwrap());
    for peak in peaks {
        assert!(peak.trim_end_matches(" |").parse::<f64>().unwrap() > 1.0, "{table}");
    }
}

#[test]
fn what_cannot_be_prepared_is_told() {
    let output = prepare(&["--child", "--dataset-path", "absent", "--tokenizer", "absent"]);
    assert!(!output.status.success());
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("absent"), "{message}");
}
