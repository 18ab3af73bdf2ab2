//! Client audit in the output of the program.

use serde_json::Value;

use crate::program::{Folder, SMALL, text};

/// Flags of a run of which every request fails and which tolerates that.
const FRUITLESS: [&str; 7] = [
    "--simulate-fault",
    "status:500/1",
    "--warmup-requests",
    "0",
    "--tolerate-failures",
    "1",
    "--disable-tqdm",
];

const VERDICTS: [&str; 4] = ["clean", "corrected", "suspect", "client-limited"];

#[test]
fn every_run_is_audited_in_its_report_its_log_and_on_the_screen() {
    let folder = Folder::new();
    let output = folder.run(&[&SMALL[..], &["--run-log", "run.jsonl", "--full"]].concat());
    let (table, news) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{news}");
    let log = folder.read("run.jsonl");
    let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    let audit = &last["footer"]["audit"];
    let verdict = audit["verdict"].as_str().unwrap();
    assert!(VERDICTS.contains(&verdict), "{audit}");
    assert_eq!(audit["reading"]["answered"], 12, "{audit}");
    assert_eq!(audit["sending"]["sent"], 12, "{audit}");
    assert!(table.contains(&format!("\nClient audit\n  verdict           {verdict}\n")), "{table}");
    assert!(news.contains(&format!("Client audit: {verdict}: ")), "{news}");
}

#[test]
fn sglangs_layout_stays_as_it_is_and_the_verdict_goes_to_standard_error() {
    let folder = Folder::new();
    let output = folder.run(&[&SMALL[..], &["--layout", "sglang", "--no-run-log"]].concat());
    let (table, news) = (text(&output.stdout), text(&output.stderr));
    assert!(!table.to_lowercase().contains("audit"), "{table}");
    assert!(news.contains("Client audit: "), "{news}");
}

#[test]
fn a_verdict_that_was_not_to_be_ends_the_run_with_3() {
    let folder = Folder::new();
    let gate = ["--fail-on-verdict", "suspect"];
    let output = folder.run(&[&SMALL[..], &FRUITLESS, &gate].concat());
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{news}");
    assert!(news.contains("error: --fail-on-verdict suspect: the client audit is"), "{news}");
    assert!(news.contains("no request succeeded"), "{news}");
    assert!(text(&output.stdout).contains("  Client  "), "the summary is printed all the same");
}

#[test]
fn without_the_flag_no_verdict_ends_a_run() {
    let folder = Folder::new();
    let output = folder.run(&[&SMALL[..], &FRUITLESS].concat());
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{news}");
    assert!(!news.contains("error: "), "{news}");
}

#[test]
fn too_many_failures_are_worse_than_a_verdict() {
    let folder = Folder::new();
    let gate = ["--fail-on-verdict", "corrected", "--tolerate-failures", "0.5"];
    let output = folder.run(&[&SMALL[..], &FRUITLESS, &gate].concat());
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
}

/// Every fifth request is refused after five times the time of an answer, so that failures take
/// more than half of the time in flight.
#[test]
fn slow_failures_of_the_server_do_not_make_the_client_suspect_by_littles_law() {
    let folder = Folder::new();
    let args = "--simulate ttft=5ms,itl=1ms,output_tokens=8 --simulate-fault status:500/5 \
                --simulate-fault slow-headers:60ms/5 --num-prompts 300 --request-rate 100 \
                --tolerate-failures 1 --disable-tqdm --run-log run.jsonl";
    let output = folder.run(&args.split_whitespace().collect::<Vec<_>>());
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{news}");
    let log = folder.read("run.jsonl");
    let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    let law = &last["footer"]["audit"]["littles_law"];
    assert!(law["difference"].as_f64().unwrap().abs() < 0.1, "{law}");
    assert!(!news.contains("were in flight, where"), "{news}");
}

#[test]
fn both_parts_of_the_verdict_are_in_the_table_the_log_and_the_line() {
    let folder = Folder::new();
    let output = folder.run(&[&SMALL[..], &["--run-log", "run.jsonl", "--full"]].concat());
    let (table, news) = (text(&output.stdout), text(&output.stderr));
    let log = folder.read("run.jsonl");
    let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    let audit = &last["footer"]["audit"];
    let load = audit["load"]["verdict"].as_str().unwrap();
    assert!(["carried", "strained", "client-limited"].contains(&load), "{audit}");
    let latencies = audit["latencies"]["verdict"].as_str().unwrap();
    assert!(["exact", "corrected", "uncertain"].contains(&latencies), "{audit}");
    assert!(
        table.contains(&format!("\n  load              {load}\n  latencies         ")),
        "{table}"
    );
    assert!(news.contains(&format!(": load {load}, latencies ")), "{news}");
}
