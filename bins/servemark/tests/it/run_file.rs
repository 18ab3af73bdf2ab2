//! `servemark run FILE`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use super::{command, servemark, text};

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
    let summary = text(&again.stdout);
    for name in ["Measured", "Requests", "TTFT", "E2E", "Client"] {
        assert!(summary.contains(&format!("  {name:<12}")), "{name}: {summary}");
    }
    assert!(summary.lines().count() <= 14, "{summary}");
    assert!(summary.lines().all(|line| line.chars().count() <= 80), "{summary}");
    let dated = fs::read_dir(folder.path().join("servemark-results")).unwrap().next().unwrap();
    assert!(dated.unwrap().path().join("report.html").exists());
    let whole = servemark(&folder, &["run", "bench.toml", "--full"]);
    assert!(text(&whole.stdout).contains("Servemark report"), "{}", text(&whole.stdout));
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

/// A plan's faults are reported together. A peer's command reports the first one before it waits
/// for the server.
#[test]
fn a_missing_chat_template_or_file_is_told_before_the_server_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let server = servemark_mock::MockServer::start(servemark_mock::MockSpec::default()).unwrap();
    let url = server.base_url();
    fs::write(folder.path().join("chats.jsonl"), "{\"messages\": []}\n").unwrap();
    let tokenizer = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/gpt2");
    let file = format!(
        "backend: vllm\nserver: {{at: {{base_url: '{url}'}}}}\nmodel: {{tokenizer: {tokenizer}}}\n\
         workload: {{dataset: {{dataset: vllm, kind: custom, path: chats.jsonl}}}}\n\
         output: {{result_file: no/folder/x.jsonl}}\n",
    );
    fs::write(folder.path().join("bench.yaml"), file).unwrap();
    let done = servemark(&folder, &["run", "bench.yaml"]);
    let errors = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{errors}");
    for part in ["this tokenizer has no chat template", "no/folder"] {
        assert!(
            errors.lines().any(|line| line.starts_with("  - ") && line.contains(part)),
            "{errors}"
        );
    }
    let target = ["bench-serving", "--backend", "sglang-oai-chat", "--base-url", &url];
    for (dataset, file, words) in [
        ("openai", "chats.jsonl", "give a tokenizer that has one (--tokenizer)"),
        ("sharegpt", "absent.json", "absent.json"),
    ] {
        let data = ["--dataset-name", dataset, "--dataset-path", file, "--tokenizer", tokenizer];
        let done = servemark(&folder, &[&target[..], &data].concat());
        let errors = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{errors}");
        assert!(errors.contains(words), "{errors}");
    }
    assert_eq!(server.requests().len(), 0, "the server was asked");
}

#[test]
fn a_live_page_needs_a_free_port_and_a_log_that_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bench.toml"), SHORT).unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let pipe = "output.run_log=\"/dev/null\"";
    let done = servemark(&folder, &["run", "bench.toml", "--live", &port, "--set", pipe]);
    let errors = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{errors}");
    assert!(errors.contains("  - --live cannot serve a page at 127.0.0.1:"), "{errors}");
    assert!(errors.contains("  - --live has no effect where the run log is a pipe"), "{errors}");
    assert!(!folder.path().join("servemark-results").exists(), "a folder was made");
    let demo = servemark(&folder, &["demo", "--live", &port]);
    assert_eq!(demo.status.code(), Some(2), "{}", text(&demo.stderr));
    assert!(!folder.path().join("servemark-results").exists(), "a folder was made");
}

#[test]
fn a_run_serves_its_page_while_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let slow = SHORT.replace("requests = 12", "requests = 40").replace("\"5ms\"", "\"100ms\"");
    fs::write(folder.path().join("bench.toml"), slow).unwrap();
    let mut child = command(&folder, &["run", "bench.toml", "--live", "0", "--out", "kept"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut news = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let line = news.find(|line| line.starts_with("Live page: ")).expect("the address is printed");
    let address = line.trim_start_matches("Live page: http://").trim_end_matches('/');
    let ask = |query: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /?{query} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        page
    };
    let first = ask("");
    assert!(first.contains("\"state\":\"running\""), "{first}");
    let last = ask("last");
    assert!(last.contains("\"state\":\"over\"") && last.contains("40 requests in"), "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(0), "{:?}", news.collect::<Vec<_>>());
    let report = fs::read_to_string(folder.path().join("kept/report.html")).unwrap();
    assert!(!report.contains("connect-src") && !report.contains("fetch("), "a file asks nothing");
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

#[test]
fn the_plan_of_each_peers_command_runs_from_a_toml_file() {
    let lines = [
        "python3 -m sglang.bench_serving --simulate ttft=2ms --num-prompts 4 --random-input 8 \
         --random-output 4",
        "vllm bench serve --simulate ttft=2ms --num-prompts 4 --random-input-len 8 \
         --random-output-len 4",
        "vllm bench throughput --simulate ttft=2ms --num-prompts 4 --input-len 8 --output-len 4",
        "vllm bench latency --simulate ttft=2ms --input-len 8 --output-len 4 --num-iters 2 \
         --num-iters-warmup 1",
        "evalscope perf --simulate ttft=2ms --model m --prompt hello --max-tokens 4 --number 4",
        "ais_bench --models vllm_api_stream_chat --datasets synthetic_gen_string -m perf \
         --simulate ttft=2ms --set datasets.config.RequestCount=4",
        "bench-embedding --simulate ttft=2ms --num-prompts 4",
    ];
    for line in lines {
        let folder = tempfile::tempdir().unwrap();
        let words = line.split_whitespace().chain(["--plan-only", "--as", "toml"]);
        let plan = servemark(&folder, &words.collect::<Vec<_>>());
        assert_eq!(plan.status.code(), Some(0), "{line}: {}", text(&plan.stderr));
        fs::write(folder.path().join("plan.toml"), plan.stdout).unwrap();
        let run = servemark(&folder, &["run", "plan.toml", "--out", "results", "--quiet"]);
        assert_eq!(run.status.code(), Some(0), "{line}: {}", text(&run.stderr));
        for file in ["report.html", "summary.json", "run.runlog.jsonl"] {
            assert!(folder.path().join("results").join(file).exists(), "{line}: {file}");
        }
    }
}
