use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output};
use std::thread::yield_now;

use crate::program::{Folder, text};

/// Answers take two seconds, ten are asked for a second, and Ctrl-C comes while some are under way.
const LONG: [&str; 14] = [
    "--simulate",
    "ttft=50ms,itl=20ms",
    "--num-prompts",
    "100",
    "--random-input-len",
    "8",
    "--random-output-len",
    "100",
    "--random-range-ratio",
    "1.0",
    "--request-rate",
    "10",
    "--run-log",
    "run.jsonl",
];

/// Starts the run and waits until `requests` of its requests, the warm-up among them, are over.
fn under_way(folder: &Folder, requests: usize) -> Child {
    let mut child = folder.spawn(&LONG);
    while folder.read("run.jsonl").lines().count() < 1 + requests {
        assert!(child.try_wait().expect("a child").is_none(), "it ended too early");
        yield_now();
    }
    child
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

fn ended(child: Child) -> Output {
    child.wait_with_output().expect("a child")
}

#[test]
fn ctrl_c_once_drains_and_reports() {
    let folder = Folder::new();
    let child = under_way(&folder, 3);
    signal(&child, "-INT");
    let output = ended(child);
    let (table, log) = (text(&output.stdout), folder.read("run.jsonl"));
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(table.contains("Failed requests:                         0"), "{table}");
    assert!(table.to_lowercase().contains("interrupted"), "{table}");
    assert!(log.lines().count() < 1 + 100, "it went on sending");
    assert!(log.lines().last().is_some_and(|line| line.contains(r#""interrupted":true"#)));
}

#[test]
fn ctrl_c_twice_gives_up_what_is_in_flight_and_reports() {
    let folder = Folder::new();
    let mut child = under_way(&folder, 3);
    signal(&child, "-INT");
    let news = BufReader::new(child.stderr.take().expect("a pipe"));
    let heard = news.lines().map_while(Result::ok).any(|line| line.starts_with("Stopping:"));
    assert!(heard, "the first was not heard");
    signal(&child, "-INT");
    let output = ended(child);
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stdout).contains("Successful requests:"));
    assert!(folder.read("run.jsonl").contains(r#""kind":"cancelled""#));
}

#[test]
fn a_kill_loses_no_finished_request() {
    let folder = Folder::new();
    let child = under_way(&folder, 4);
    signal(&child, "-KILL");
    ended(child);
    let log = folder.read("run.jsonl");
    assert!(log.lines().count() > 4);
    assert!(!log.contains(r#"{"footer""#));
}
