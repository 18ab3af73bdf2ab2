//! Comparison of two servers in alternation, and repeated runs against one server.

use std::fs;
use std::process::Output;
use std::time::Duration;

use serde_json::Value;
use servemark_mock::{MockServer, MockSpec};
use tempfile::TempDir;

use crate::{servemark, text};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");

/// Starts a server with this TTFT and one token per millisecond.
fn mock(ttft_ms: u64) -> MockServer {
    let mut spec = MockSpec::new(Duration::from_millis(ttft_ms), Duration::from_millis(1));
    spec.keep_requests = 1000;
    MockServer::start(spec).unwrap()
}

/// Flags of a run of 25 sequential requests.
fn flags() -> Vec<String> {
    let line = "--dataset-name random-ids --num-prompts 25 --random-input-len 8 --random-output-len 4 \
                --max-concurrency 1 --backend vllm --warmup-requests 0 --tokenizer";
    let tokenizer = format!("{FIXTURES}/tokenizers/gpt2");
    line.split_whitespace().map(str::to_owned).chain([tokenizer]).collect()
}

fn run(folder: &TempDir, ours: &[&str]) -> Output {
    let flags = flags();
    let flags = flags.iter().map(String::as_str);
    let args: Vec<&str> = ours.iter().copied().chain(["--"]).chain(flags).collect();
    servemark(folder, &args)
}

/// Returns the names of the run logs in a folder.
fn logs(folder: &TempDir, name: &str) -> Vec<String> {
    let entries = fs::read_dir(folder.path().join(name)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".runlog.jsonl")).collect();
    names.sort();
    names
}

#[test]
fn two_servers_are_asked_in_turn_until_their_difference_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let (slow, fast) = (mock(20), mock(4));
    let [a, b] = [slow.base_url(), fast.base_url()];
    // The tolerance is larger than any noise of a machine, so the comparison ends early.
    let args = ["ab", "--a", &a, "--b", &b, "--max-runs", "4", "--folder", "f", "--json"];
    let until = ["--until", "ttft:p50+-1000000%"];
    let output = run(&folder, &[&args[..], &until, &["--force"]].concat());
    assert_eq!(output.status.code(), Some(2), "there is no --force");
    let output = run(&folder, &[&args[..], &until].concat());
    let news = text(&output.stderr);
    let document: Value = serde_json::from_slice(&output.stdout).expect(&news);
    let known = &document["until"][0];
    assert_eq!(known["is_known"], true, "{news}");
    let of_last = news.lines().rfind(|line| line.contains("ttft:p50+-1000000%")).unwrap();
    assert_eq!(news.matches(of_last).count(), 1, "the last round is told once: {news}");
    assert!(known["percent"].as_f64().unwrap() < -20.0, "{news}");
    let rounds = known["rounds"].as_u64().unwrap();
    assert!((2..=4).contains(&rounds), "{news}");
    assert_eq!(document["runs"]["before"], rounds);
    let kept = |name: &str| fs::read_to_string(folder.path().join("f").join(name)).unwrap();
    assert_eq!(kept("summary.json"), text(&output.stdout));
    assert!(kept("report.html").contains("<title>Comparison · Servemark</title>"));
    let names = logs(&folder, "f");
    assert_eq!(
        names[..4],
        [
            "001_round=1,side=a.runlog.jsonl",
            "002_round=1,side=b.runlog.jsonl",
            "003_round=2,side=b.runlog.jsonl",
            "004_round=2,side=a.runlog.jsonl",
        ]
    );
    // When it is run again, nothing is measured; if one log is missing, only that run is
    // repeated. If its TTFT differs from that of the lost one, another round may be needed.
    let before = slow.requests().len() + fast.requests().len();
    fs::remove_file(folder.path().join("f").join(&names[1])).unwrap();
    let again = run(&folder, &[&args[..], &until].concat());
    assert!(text(&again.stderr).contains("was measured already"), "{}", text(&again.stderr));
    let posts = |server: &MockServer| {
        server.requests().iter().filter(|request| request.method == "POST").count()
    };
    let document: Value = serde_json::from_slice(&again.stdout).unwrap();
    let runs = usize::try_from(document["until"][0]["rounds"].as_u64().unwrap()).unwrap();
    assert!(runs as u64 >= rounds);
    assert_eq!((posts(&slow), posts(&fast)), (25 * runs, 25 * (runs + 1)));
    assert!(before > 0);
    let kept = logs(&folder, "f");
    assert_eq!(kept.len(), 2 * runs);
    assert_eq!(kept[..names.len()], names);
}

#[test]
fn a_difference_that_is_not_known_is_undecided() {
    let folder = tempfile::tempdir().unwrap();
    let server = mock(3);
    let url = server.base_url();
    let args = ["ab", "--a", &url, "--b", &url, "--max-runs", "2", "--folder", "f"];
    let output = run(&folder, &[&args[..], &["--until", "ttft:p50+-0.0001%"]].concat());
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{news}");
    assert!(news.contains("error: --until: ttft:p50+-0.0001% is undecided: from A to B"), "{news}");
    let table = text(&output.stdout);
    assert!(table.contains("A: 2 runs: ") && table.contains("Median TTFT (ms)"), "{table}");
}

#[test]
fn a_server_with_a_command_is_started_for_its_runs() {
    let folder = tempfile::tempdir().unwrap();
    let server = mock(3);
    let url = server.base_url();
    // The server is already running; the command records that it was started and ended.
    let command = "echo started >> starts; sleep 1000";
    let args = ["ab", "--a", &url, "--b", &url, "--max-runs", "2", "--folder", "f"];
    let output = run(&folder, &[&args[..], &["--b-command", command]].concat());
    let news = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 6)), "{news}");
    // The two runs of B follow each other: A B B A.
    let starts = fs::read_to_string(folder.path().join("starts")).unwrap();
    assert_eq!(starts, "started\n");
}

#[test]
fn the_spread_between_runs_is_kept_and_a_gate_below_it_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = mock(3);
    let url = server.base_url();
    let args = ["noise", &url, "--runs", "3", "--folder", "f", "--store", "noise.json"];
    let output = run(&folder, &args);
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{news}");
    assert!(text(&output.stdout).contains("Mean TTFT (ms)"), "{}", text(&output.stdout));
    let results = |name: &str| fs::read_to_string(folder.path().join("f").join(name)).unwrap();
    let page = results("report.html");
    assert!(page.contains("<title>Spread between runs · Servemark</title>"));
    assert!(page.contains("Mean TTFT (ms)") && page.contains("Spread between 3 runs"));
    let summary: Value = serde_json::from_str(&results("summary.json")).unwrap();
    assert_eq!(summary["schema"], "servemark/noise/1");
    let store = folder.path().join("noise.json");
    let mut kept: Value = serde_json::from_slice(&fs::read(&store).unwrap()).unwrap();
    let (key, entry) = kept.as_object_mut().unwrap().iter_mut().next().unwrap();
    assert!(key.contains(&url), "{key}");
    assert!(entry["percent"]["ttft_ms.mean"].as_f64().unwrap() > 0.0, "{entry}");
    assert_eq!(entry["runs"], 3);
    // A fixed spread, so that the gate does not depend on the machine.
    entry["percent"]["ttft_ms.mean"] = 10.0.into();
    fs::write(&store, kept.to_string()).unwrap();
    let logs = logs(&folder, "f");
    let [one, other] = [0, 1].map(|at| format!("f/{}", logs[at]));
    let compare = ["compare", &one, &other, "--force", "--noise", "noise.json"];
    let gate =
        |condition: &str| servemark(&folder, &[&compare[..], &["--fail-if", condition]].concat());
    let refused = gate("ttft:mean>+20%");
    let news = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(6), "{news}");
    assert!(
        news.contains("--fail-if ttft:mean>+20% is not judged: runs of the same differ by 27.7 %"),
        "{news}"
    );
    assert!(news.contains("Spread between runs of the same (3 runs): "), "{news}");
    // The refused gate is undecided in the reports, whatever the others say.
    let junit = ["--fail-if", "ttft:mean>+20%", "--fail-if", "completed>0", "--junit", "gates.xml"];
    let both = servemark(&folder, &[&compare[..], &junit].concat());
    assert_eq!(both.status.code(), Some(3), "{}", text(&both.stderr));
    let junit = fs::read_to_string(folder.path().join("gates.xml")).unwrap();
    assert!(junit.contains("failures=\"1\" errors=\"1\""), "{junit}");
    assert!(junit.contains("not judged: runs of the same differ by 27.7 %"), "{junit}");
    let wide = gate("ttft:mean>+1000%");
    assert_eq!(wide.status.code(), Some(0), "{}", text(&wide.stderr));
    let tolerance = ["--no-worse-than", "ttft:mean=20%"];
    let refused = servemark(&folder, &[&compare[..], &tolerance, &["--json"]].concat());
    assert_eq!(refused.status.code(), Some(6), "{}", text(&refused.stderr));
    let document: Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_eq!(document["no_worse_than"][0]["verdict"], "undecided");
}
