//! `servemark run FILE`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{servemark, text};

/// A short run against the simulator.
const SHORT: &str = r#"
backend = "sglang-oai-chat"

[server.simulated]
ttft = "5ms"
itl = "1ms"

[workload]
requests = 12

[workload.dataset]
dataset = "random"
source = "vocabulary"
input_tokens = 8
output_tokens = 4

[load]
max_concurrency = 4
"#;

#[test]
fn a_run_of_a_file_leaves_its_results_in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bench.toml"), SHORT).unwrap();
    let args = ["run", "bench.toml", "--set", "workload.requests=9", "--out", "kept", "--json"];
    let done = servemark(&folder, &args);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let printed: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(printed["schema"], "servemark/score/1");
    let kept = folder.path().join("kept");
    let summary: Value =
        serde_json::from_slice(&fs::read(kept.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary, printed);
    assert!(fs::read_to_string(kept.join("report.html")).unwrap().starts_with("<!DOCTYPE html>"));
    let log = fs::read_to_string(kept.join("run.runlog.jsonl")).unwrap();
    let measured = log.lines().filter(|line| line.starts_with("{\"request\"")).count();
    assert!(measured >= 9, "{measured} requests");
    // Without --out the folder is named by the time.
    let again = servemark(&folder, &["run", "bench.toml"]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    assert!(text(&again.stdout).contains("Servemark report"), "{}", text(&again.stdout));
    let dated = fs::read_dir(folder.path().join("servemark-results")).unwrap().next().unwrap();
    assert!(dated.unwrap().path().join("report.html").exists());
}

#[test]
fn all_faults_of_this_machine_are_told_together_and_nothing_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let server = servemark_mock::MockServer::start(servemark_mock::MockSpec::default()).unwrap();
    let file = format!(
        "backend: vllm\nserver: {{at: {{base_url: '{}'}}}}\nmodel: {{tokenizer: ./absent}}\n\
         workload: {{dataset: {{dataset: sharegpt, path: absent.json}}}}\n\
         output: {{result_file: no/folder/x.jsonl}}\n",
        server.base_url()
    );
    fs::write(folder.path().join("bench.yaml"), file).unwrap();
    fs::create_dir(folder.path().join("full")).unwrap();
    fs::write(folder.path().join("full/file"), "mine").unwrap();
    let done = servemark(&folder, &["run", "bench.yaml", "--header", "x", "--out", "full"]);
    let errors = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{errors}");
    for part in ["./absent is not there", "absent.json", "no/folder", "--header", "not empty"] {
        assert!(
            errors.lines().any(|line| line.starts_with("  - ") && line.contains(part)),
            "{errors}"
        );
    }
    assert_eq!(server.truth().len(), 0, "a request was sent");
}

#[test]
fn a_typo_is_told_with_the_key_that_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    let typo = SHORT.replace("max_concurrency", "max_concurency");
    fs::write(folder.path().join("bench.toml"), typo).unwrap();
    let done = servemark(&folder, &["run", "bench.toml"]);
    let errors = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{errors}");
    assert!(errors.contains("load.max_concurency"), "{errors}");
    assert!(errors.contains("did you mean max_concurrency?"), "{errors}");
    assert!(!folder.path().join("servemark-results").exists(), "a folder was made");
}

#[test]
fn a_peers_command_becomes_a_file_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let line = "python3 -m sglang.bench_serving --simulate ttft=2ms,itl=1ms --num-prompt 5 \
                --random-input 8 --random-output 4 --no-run-log --plan-only";
    let line: Vec<&str> = line.split_whitespace().collect();
    for language in ["toml", "yaml", "json"] {
        let printed = servemark(&folder, &[&line[..], &["--as", language]].concat());
        assert_eq!(printed.status.code(), Some(0), "{}", text(&printed.stderr));
        let name = format!("plan.{language}");
        fs::write(folder.path().join(&name), &printed.stdout).unwrap();
        let done = servemark(&folder, &["run", &name, "--out", language]);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        assert!(text(&done.stdout).contains("Successful requests:                     5"));
    }
}

#[test]
fn the_examples_are_plans() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples");
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    for example in fs::read_dir(examples).unwrap() {
        let path = example.unwrap().path();
        let printed = servemark(&folder, &["run", path.to_str().unwrap(), "--plan-only"]);
        assert_eq!(printed.status.code(), Some(0), "{}", text(&printed.stderr));
        count += 1;
    }
    assert!(count >= 2, "{count} examples");
}
