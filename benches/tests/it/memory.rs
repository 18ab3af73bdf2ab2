//! Runs the memory study on a few streams and tokens, as a user starts it.

use std::process::Command;

#[test]
fn a_small_study_gives_a_table_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_memory"))
        .args(["--streams", "3", "--tokens", "2000", "--folder"])
        .arg(folder.path())
        .output()
        .expect("it starts");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for case in [
        "3 idle streams",
        "2000 tokens kept",
        "2000 tokens kept and scored",
        "2000 tokens written",
        "2000 tokens read and scored",
    ] {
        let row = table.lines().find(|row| row.starts_with(&format!("| {case} |"))).expect(case);
        let peak = row.split('|').nth(2).unwrap();
        assert!(peak.trim().parse::<f64>().unwrap() > 1.0, "{table}");
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}
