//! Verdicts of gates for continuous integration.

use std::fs;
use std::process::Command;

use super::{RUN, servemark, text};

#[test]
fn gates_of_a_run_are_written_for_continuous_integration() {
    let folder = tempfile::tempdir().unwrap();
    servemark(&folder, &[&RUN[..], &["--num-prompt", "60"]].concat());
    let gates = ["--slo", "ttft:p50<0.001ms,success>=50%", "--fail-on-verdict", "client-limited"];
    let files = ["--markdown", "gates.md", "--junit", "gates.xml", "--github"];
    let score = servemark(&folder, &[&["score", "run.jsonl"], &gates[..], &files].concat());
    let news = text(&score.stderr);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let (markdown, junit) = (read("gates.md"), read("gates.xml"));
    assert!(markdown.starts_with("## run.jsonl\n"), "{markdown}");
    assert!(markdown.contains("| holds | --slo success&gt;=50% |"), "{markdown}");
    assert!(markdown.contains("\n| TTFT (ms) | "), "{markdown}");
    assert!(junit.contains("name=\"--slo success&gt;=50%\""), "{junit}");
    assert!(junit.contains("name=\"--fail-on-verdict client-limited\""), "{junit}");
    // The limit of a microsecond cannot hold.
    assert_ne!(score.status.code(), Some(0), "{news}");
    let annotation = news.lines().find(|line| line.starts_with("::")).unwrap_or_default();
    assert!(annotation.contains("title=--slo ttft%3Ap50"), "{news}");
}

#[test]
fn gates_of_an_exploration_are_written_for_continuous_integration() {
    let folder = tempfile::tempdir().unwrap();
    let short = ["demo", "--duration", "3", "--output-len", "16", "--max-streams", "2"];
    let files = ["--markdown", "gates.md", "--junit", "gates.xml", "--github"];
    // No first token comes before 50 ms.
    let done = servemark(&folder, &[&short[..], &["--slo", "ttft:p50<1ms"], &files].concat());
    let news = text(&done.stderr);
    assert!([3, 6].contains(&done.status.code().unwrap()), "{news}");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let (markdown, junit) = (read("gates.md"), read("gates.xml"));
    assert!(markdown.starts_with("## http://127.0.0.1:"), "{markdown}");
    assert!(markdown.contains("| holds | at most 1.0 % failed requests | 0 of "), "{markdown}");
    assert!(markdown.contains("\n| Streams | Output tokens/s |"), "{markdown}");
    assert!(junit.contains("name=\"--slo ttft:p50&lt;"), "{junit}");
    assert!(junit.contains("tests=\"2\""), "{junit}");
    assert!(news.lines().any(|line| line.starts_with("::")), "{news}");
    let refused = servemark(&folder, &[&short[..], &["--junit", "no/such/gates.xml"]].concat());
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}

#[test]
fn gates_of_a_comparison_are_written_where_github_runs_it() {
    let folder = tempfile::tempdir().unwrap();
    servemark(&folder, &RUN);
    let summary = folder.path().join("summary.md");
    fs::write(&summary, "# before\n").unwrap();
    let args = ["compare", "run.jsonl", "run.jsonl", "--force", "--junit", "gates.xml"];
    let compared = Command::new(env!("CARGO_BIN_EXE_servemark"))
        .args(args)
        .args(["--fail-if", "completed>0", "--fail-if", "completed<-50%"])
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", &summary)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let news = text(&compared.stderr);
    assert_eq!(compared.status.code(), Some(3), "{news}");
    assert!(news.lines().any(|line| line.starts_with("::error title=--fail-if")), "{news}");
    let summary = fs::read_to_string(summary).unwrap();
    assert!(summary.starts_with("# before\n## servemark compare"), "{summary}");
    let junit = fs::read_to_string(folder.path().join("gates.xml")).unwrap();
    assert!(junit.contains("tests=\"2\" failures=\"1\" errors=\"0\""), "{junit}");
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bench.json"), "{}").unwrap();
    let done = servemark(&folder, &["run", "bench.json", "--junit", "no/such/gates.xml"]);
    let news = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{news}");
    assert!(news.contains("no/such/gates.xml") && news.contains("missing field"), "{news}");
}
