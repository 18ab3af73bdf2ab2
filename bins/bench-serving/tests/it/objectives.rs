//! Objectives as a gate on a run, and a search for the largest load that passes the gate.

use std::process::Output;

use crate::program::{Folder, SMALL, text};

/// Makes the server of [`SMALL`] so slow that a client that shares its core is seldom the limit.
const SLOW: [&str; 2] = ["--simulate", "ttft=40ms,itl=1ms"];

#[test]
fn a_run_that_keeps_its_objectives_says_so_and_one_that_does_not_fails() {
    let folder = Folder::new();
    // One after the other: requests that queue behind each other have correlated times.
    let slow = [&SMALL[..], &SLOW, &["--num-prompts", "24", "--max-concurrency", "1"]].concat();
    let kept = ["--slo", "e2el:median<60s,success>=70%", "--run-log", "run.jsonl"];
    let output = folder.run(&[&slow[..], &kept].concat());
    check_objective(&output, 0, "e2el:median<60000ms holds: ");
    assert!(folder.read("run.jsonl").contains("\"slo\":{\"objectives\":[\"e2el:median<60000ms\""));
    let missed = ["--slo", "e2el:median<1us", "--no-run-log"];
    let output = folder.run(&[&slow[..], &missed].concat());
    check_objective(&output, 3, "error: --slo: e2el:median<0.001ms fails: ");
    // Twelve requests are too few to judge a 99th percentile.
    let open = ["--slo", "e2el:p99<60s", "--no-run-log"];
    let output = folder.run(&[&SMALL[..], &open].concat());
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{news}");
    assert!(news.contains("e2el:p99<60000ms is undecided"), "{news}");
    assert!(news.contains("too few requests"), "{news}");
}

/// Checks the exit code and the message of a run with an objective. On a busy machine the client is
/// the limit; then the objective is not judged, and the message says so.
#[track_caller]
fn check_objective(output: &Output, code: i32, message: &str) {
    let news = text(&output.stderr);
    if news.contains("not judged: the client was the limit") {
        assert_eq!(output.status.code(), Some(6), "{news}");
    } else {
        assert_eq!(output.status.code(), Some(code), "{news}");
        assert!(news.contains(message), "{news}");
    }
}

const SEARCH: [&str; 12] = [
    "--slo-search",
    "max-concurrency",
    "--slo-start",
    "2",
    "--slo-bounds",
    "1,4",
    "--slo-requests",
    "40",
    "--sweep-folder",
    "search",
    "--sweep-file",
    "search.html",
];

#[test]
fn a_search_ends_with_its_table_its_page_and_its_answer() {
    let folder = Folder::new();
    let objective = ["--slo", "e2el:median<60s"];
    let output = folder.run(&[&SMALL[..], &SLOW, &SEARCH, &objective].concat());
    let (table, news) = (text(&output.stdout), text(&output.stderr));
    assert!(table.starts_with("| max_concurrency | verdict | rounds | requests |"), "{table}");
    // On a busy machine the client cannot offer every load, and the answer says so.
    let is_limited = table.contains("This client could not offer ");
    assert!(matches!(output.status.code(), Some(0 | 6)), "{news}");
    if !is_limited {
        assert_eq!(output.status.code(), Some(0), "{news}");
        assert!(news.contains("max_concurrency=2: holds by "), "{news}");
        assert!(table.contains("The largest max_concurrency that holds is 4: "), "{table}");
        assert!(table.contains("it is the upper bound"), "{table}");
    }
    let page = folder.read("search.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("max_concurrency"), "{page}");
    let again = folder.run(&[&SMALL[..], &SLOW, &SEARCH, &objective].concat());
    assert_eq!(text(&again.stdout), table, "all of it is read from the folder");
}

#[test]
fn a_search_in_which_nothing_holds_fails() {
    let folder = Folder::new();
    let output = folder.run(&[&SMALL[..], &SLOW, &SEARCH, &["--slo", "e2el:median<1us"]].concat());
    let table = text(&output.stdout);
    if table.contains("This client could not offer 1") {
        assert_eq!(output.status.code(), Some(6), "{}", text(&output.stderr));
        return;
    }
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(table.contains("No max_concurrency from 1 on holds."), "{table}");
    assert!(
        table.contains("The smallest that does not is 1: e2el:median<0.001ms fails"),
        "{table}"
    );
}
