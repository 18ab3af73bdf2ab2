//! Objectives as a gate on a run, and a search for the largest load that passes the gate.

use crate::program::{Folder, SMALL, text};

#[test]
fn a_run_that_keeps_its_objectives_says_so_and_one_that_does_not_fails() {
    let folder = Folder::new();
    let kept =
        ["--slo", "e2el:median<60s,success>=70%", "--run-log", "run.jsonl", "--num-prompts", "24"];
    let output = folder.run(&[&SMALL[..], &kept].concat());
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{news}");
    assert!(news.contains("e2el:median<60000ms holds: "), "{news}");
    assert!(folder.read("run.jsonl").contains("\"slo\":{\"objectives\":[\"e2el:median<60000ms\""));
    let missed = ["--slo", "e2el:median<1us", "--no-run-log", "--num-prompts", "24"];
    let output = folder.run(&[&SMALL[..], &missed].concat());
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{news}");
    assert!(news.contains("error: --slo: e2el:median<0.001ms fails: "), "{news}");
    // Twelve requests are too few to judge a 99th percentile.
    let open = ["--slo", "e2el:p99<60s", "--no-run-log"];
    let output = folder.run(&[&SMALL[..], &open].concat());
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{news}");
    assert!(news.contains("e2el:p99<60000ms is undecided"), "{news}");
    assert!(news.contains("too few requests"), "{news}");
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
    let output = folder.run(&[&SMALL[..], &SEARCH, &objective].concat());
    let (table, news) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{news}");
    assert!(news.contains("max_concurrency=2: holds by "), "{news}");
    assert!(table.starts_with("| max_concurrency | verdict | rounds | requests |"), "{table}");
    let reaches_bound = table.contains("The largest max_concurrency that holds is 4: ")
        && table.contains("it is the upper bound");
    // On a busy machine the client cannot offer every load, and the answer says so.
    let is_limited = table.contains("This client could not offer ");
    assert!(reaches_bound || is_limited, "{table}");
    let page = folder.read("search.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("max_concurrency"), "{page}");
    let again = folder.run(&[&SMALL[..], &SEARCH, &objective].concat());
    assert_eq!(text(&again.stdout), table, "all of it is read from the folder");
}

#[test]
fn a_search_in_which_nothing_holds_fails() {
    let folder = Folder::new();
    let output = folder.run(&[&SMALL[..], &SEARCH, &["--slo", "e2el:median<1us"]].concat());
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(table.contains("No max_concurrency from 1 on holds."), "{table}");
    assert!(
        table.contains("The smallest that does not is 1: e2el:median<0.001ms fails"),
        "{table}"
    );
}
