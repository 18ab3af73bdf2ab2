//! Pages of runs and comparisons, written by the commands.

use std::fs;

use crate::{RUN, servemark, text};

#[test]
fn an_old_log_has_a_page_and_two_have_one_of_their_comparison() {
    let folder = tempfile::tempdir().unwrap();
    servemark(&folder, &RUN);
    let written = |args: &[&str]| {
        let output = servemark(&folder, args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let news = text(&output.stderr);
        assert!(news.lines().any(|line| line == "Page: page.html"), "{news}");
        fs::read_to_string(folder.path().join("page.html")).unwrap()
    };
    let score = ["score", "run.jsonl", "--html", "page.html"];
    let page = written(&score);
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(page.contains("servemark rerun run.jsonl runs this plan again."));
    assert_eq!(page, written(&score), "a log gives the same page each time");
    let page = written(&["compare", "run.jsonl", "run.jsonl", "--html", "page.html", "--force"]);
    assert!(page.contains("<title>Comparison · Servemark</title>"));
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    servemark(&folder, &RUN);
    let log = fs::read(folder.path().join("run.jsonl")).unwrap();
    for page in ["missing/page.html", "run.jsonl"] {
        for command in [&["score", "run.jsonl"][..], &["compare", "run.jsonl", "run.jsonl"]] {
            let output = servemark(&folder, &[command, &["--html", page]].concat());
            assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
            assert!(output.stdout.is_empty());
        }
    }
    assert_eq!(fs::read(folder.path().join("run.jsonl")).unwrap(), log, "the log is as it was");
}
