use serde_json::Value;
use servemark_mock::{MockServer, MockSpec, ReceivedRequest};

use crate::program::{Folder, SMALL, against, text};

fn number(table: &str, label: &str) -> f64 {
    let line = table.lines().find(|line| line.starts_with(label)).expect(label);
    line[label.len()..].trim().parse().expect("a number")
}

#[test]
fn the_first_command_prints_both_tables_and_leaves_a_log_and_a_result() {
    let folder = Folder::new();
    let output = folder
        .run(&[&SMALL[..], &["--run-log", "run.jsonl", "--output-file", "result.jsonl"]].concat());
    let (table, news) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{news}");
    assert!((number(&table, "Successful requests:") - 12.0).abs() < f64::EPSILON);
    assert!(table.contains("against the simulator's log"), "{table}");
    assert!(!table.contains("Servemark report"), "the summary is short: {table}");
    assert!(news.contains("the bundled simulator"), "{news}");
    assert_eq!(folder.read("run.jsonl").lines().count(), 1 + 1 + 12 + 1);
    let result: Value = serde_json::from_str(&folder.read("result.jsonl")).unwrap();
    assert_eq!((&result["completed"], &result["request_rate"]), (&12.into(), &Value::Null));
}

#[test]
fn a_server_that_runs_already_is_asked_what_it_serves() {
    let server = MockServer::start(MockSpec::default()).unwrap();
    let folder = Folder::new();
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");
    let tokenizer = format!("{fixtures}/tokenizers/gpt2");
    let prompts = format!("{fixtures}/prompts/sharegpt_format_dummy_500.json");
    let output = folder.run(&[
        "--backend",
        "vllm-chat",
        "--base-url",
        &server.base_url(),
        "--tokenizer",
        &tokenizer,
        "--dataset-path",
        &prompts,
        "--num-prompt",
        "5",
        "--sharegpt-output-len",
        "6",
        "--no-run-log",
        "--layout",
        "sglang",
    ]);
    let (table, news) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{news}");
    assert!(news.contains("The server serves mock."), "{news}");
    assert!((number(&table, "Total generated tokens:") - 30.0).abs() < f64::EPSILON, "{table}");
    assert!(!table.contains("Servemark report"), "{table}");
}

#[test]
fn what_sglangs_client_prints_before_its_table_is_on_standard_output_in_its_order() {
    let folder = Folder::new();
    let output = folder.run(&[&SMALL[..], &["--no-run-log", "--warmup-requests", "2"]].concat());
    let (table, news) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{news}");
    let beginnings = [
        "benchmark_args=Namespace(backend='sglang', base_url='http://127.0.0.1:",
        "Namespace(backend='sglang', base_url='http://127.0.0.1:",
        "#Input tokens: ",
        "#Output tokens: ",
        "Starting warmup with 2 sequences...",
        "Warmup completed with 2 sequences. Starting main benchmark run...",
        "============ Serving Benchmark Result ============",
    ];
    let arguments = table.lines().next().unwrap();
    for given in ["dataset_name='random-ids', ", "num_prompts=12, ", "request_rate=inf, "] {
        assert!(arguments.contains(given), "{given} is not in {arguments}");
    }
    let mut lines = table.lines();
    for beginning in beginnings {
        assert!(lines.any(|line| line.starts_with(beginning)), "{beginning}\n{table}");
        assert!(!news.contains(beginning), "{beginning} is on standard error");
    }
}

#[test]
fn a_run_in_which_everything_failed_is_reported_and_exits_5() {
    let folder = Folder::new();
    let faults = ["--simulate-fault", "status:500/1", "--warmup-requests", "0"];
    let output = folder.run(&[&SMALL[..], &faults].concat());
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
    assert!((number(&table, "Failed requests:") - 12.0).abs() < f64::EPSILON, "{table}");
}

#[test]
fn a_key_is_sent_and_written_nowhere() {
    let spec = MockSpec { keep_requests: 4, ..MockSpec::default() };
    let server = MockServer::start(spec).unwrap();
    let folder = Folder::new();
    let flags = [
        "--backend",
        "sglang-oai-chat",
        "--num-prompts",
        "2",
        "--random-output-len",
        "2",
        "--header",
        "X-Key=hunter2-hunter2",
        "--run-log",
        "run.jsonl",
        "--output-file",
        "result.jsonl",
    ];
    let output = folder.run(&against(&server.base_url(), &flags));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(server.requests()[0].header("x-key"), Some("hunter2-hunter2"));
    let written = [
        folder.read("run.jsonl"),
        folder.read("result.jsonl"),
        text(&output.stdout),
        text(&output.stderr),
    ];
    assert!(written.iter().all(|text| !text.is_empty() && !text.contains("hunter2")));
}

#[test]
fn a_trace_is_replayed_and_the_result_says_so() {
    let folder = Folder::new();
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sglang/inputs/mooncake.jsonl");
    let tokenizer = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/gpt2");
    let line = format!(
        "--simulate --backend vllm --dataset-name mooncake --dataset-path {trace} --tokenizer \
         {tokenizer} --mooncake-slowdown-factor 0.01 --mooncake-num-rounds 2 \
         --use-trace-timestamps --output-file result.jsonl --no-run-log"
    );
    let output = folder.run(&line.split_whitespace().collect::<Vec<_>>());
    let (table, news) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{news}");
    let message = "Using time-based Mooncake request scheduler, ignoring --request-rate.\nStarting \
        Mooncake trace replay. Sessions: 6, Rounds per session: 2. Slowdown factor: 0.01\n";
    assert!(table.contains(message), "{table}");
    assert!((number(&table, "Successful requests:") - 12.0).abs() < f64::EPSILON, "{table}");
    assert!(table.contains("Traffic request rate:                    trace"), "{table}");
    let result: Value = serde_json::from_str(&folder.read("result.jsonl")).unwrap();
    assert_eq!(result["request_rate"], "trace");
}

#[test]
fn embeddings_are_measured_without_a_line_about_output() {
    let folder = Folder::new();
    let output = folder.run(&[
        "--simulate",
        "ttft=2ms",
        "--backend",
        "sglang-embedding",
        "--batch-size",
        "4",
        "--encoding-format",
        "base64",
        "--dimensions",
        "32",
        "--num-prompts",
        "6",
        "--random-input-len",
        "8",
        "--request-rate",
        "inf",
        "--disable-tqdm",
        "--run-log",
        "run.jsonl",
        "--output-file",
        "result.jsonl",
        "--full",
    ]);
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let (sglang, native) = table.split_once("Servemark report").unwrap();
    assert!((number(sglang, "Successful requests:") - 6.0).abs() < f64::EPSILON, "{table}");
    assert!(sglang.contains("Mean E2E Latency") && native.contains("E2E"), "{table}");
    for absent in ["TTFT", "ITL", "Output token throughput", "generated", "Total token"] {
        assert!(!sglang.contains(absent), "{absent}: {table}");
    }
    for absent in ["TTFT", "output tokens", "retokenized"] {
        assert!(!native.contains(absent), "{absent}: {table}");
    }
    let log = folder.read("run.jsonl");
    let record: Value = serde_json::from_str(log.lines().nth(2).unwrap()).unwrap();
    let record = &record["request"];
    assert_eq!(record["planned"]["items"], 4, "{record}");
    assert!(record["received_bytes"].as_u64().unwrap() > 4 * 172, "{record}");
    let result: Value = serde_json::from_str(&folder.read("result.jsonl")).unwrap();
    assert_eq!((&result["completed"], &result["total_output_tokens"]), (&6.into(), &0.into()));
}

#[test]
fn every_other_route_runs_against_the_simulator() {
    let generated = 8 * 12;
    for (backend, tokens) in [
        ("trt", generated),
        ("truss", generated),
        ("ollama", generated),
        ("ollama-chat", generated),
        ("anthropic", generated),
        ("vllm-rerank", 0),
    ] {
        let folder = Folder::new();
        let flags = ["--backend", backend, "--no-run-log", "--output-file", "result.jsonl"];
        let exact = ["--random-range-ratio", "1.0", "--layout", "sglang"];
        let output = folder.run(&[&SMALL[..], &flags, &exact].concat());
        let news = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{backend}: {news}");
        let result: Value = serde_json::from_str(&folder.read("result.jsonl")).unwrap();
        assert_eq!(result["completed"], 12, "{backend}: {news}");
        assert_eq!(result["total_output_tokens"], tokens, "{backend}");
    }
}

/// Returns the text requests of a run with these flags in order, beginning with the warm-up.
fn sent_requests(flags: &[&str]) -> Vec<ReceivedRequest> {
    let spec = MockSpec { keep_requests: 20, ..MockSpec::default() };
    let server = MockServer::start(spec).expect("a server");
    let load = ["--num-prompts", "3", "--random-output-len", "2", "--max-concurrency", "1"];
    let flags = [&load[..], &["--no-run-log"], flags].concat();
    let output = Folder::new().run(&against(&server.base_url(), &flags));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    server.requests().into_iter().filter(|request| request.method == "POST").collect()
}

#[test]
fn adapters_are_asked_for_in_turn_and_the_warm_up_asks_for_the_first() {
    let flags = ["--lora-name", "a", "b", "--lora-request-distribution", "distinct"];
    for (backend, has_model) in [("sglang", false), ("vllm", true), ("vllm-chat", true)] {
        let requests = sent_requests(&[&flags[..], &["--backend", backend]].concat());
        let bodies = requests.iter().map(|request| serde_json::from_slice(&request.body).unwrap());
        let bodies: Vec<Value> = bodies.collect();
        let names: Vec<_> = bodies.iter().map(|body| body["lora_path"].as_str().unwrap()).collect();
        assert_eq!(names, ["a", "a", "b", "a"], "{backend}");
        let model = |body: &Value| body.get("model") == Some(&body["lora_path"]);
        assert!(bodies.iter().all(|body| model(body) == has_model), "{backend}");
    }
}

#[test]
fn every_session_has_a_name_and_the_warm_up_has_none() {
    let requests = sent_requests(&["--session-header", "x-session", "--backend", "sglang"]);
    let names: Vec<_> = requests.iter().map(|request| request.header("x-session")).collect();
    assert_eq!((names.len(), names[0]), (4, None));
    let mut names: Vec<_> = names[1..].iter().map(|name| name.unwrap()).collect();
    names.dedup();
    assert_eq!(names.len(), 3);
}

#[test]
fn a_group_of_prompts_begins_alike_and_is_routed_alike() {
    let spec = MockSpec { keep_requests: 20, ..MockSpec::default() };
    let server = MockServer::start(spec).unwrap();
    let folder = Folder::new();
    let tokenizer = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/gpt2");
    let line = "--model mock --dataset-name generated-shared-prefix --gsp-num-groups 2 \
                --gsp-prompts-per-group 2 --gsp-system-prompt-len 20 --gsp-question-len 4 \
                --gsp-output-len 2 --gsp-ordered --gsp-send-routing-key --max-concurrency 1 \
                --warmup-requests 0 --no-run-log";
    let target = ["--base-url", &server.base_url(), "--tokenizer", tokenizer];
    let output = folder.run(&line.split_whitespace().chain(target).collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("Total prompts: 4"), "{}", text(&output.stdout));
    let received = server.requests();
    let prompts = received.iter().filter(|request| request.path == "/generate");
    let sent: Vec<(String, String)> = prompts.map(group_and_beginning).collect();
    assert_eq!(sent.len(), 4);
    assert!(sent[0] == sent[1] && sent[2] == sent[3] && sent[0] != sent[2], "{sent:?}");
}

/// Returns the group named by the routing key, and the system prompt.
fn group_and_beginning(request: &ReceivedRequest) -> (String, String) {
    let key = request.header("x-smg-routing-key").and_then(|key| key.rsplit_once('_'));
    let body: Value = serde_json::from_slice(&request.body).expect("it is JSON");
    let parts = body["text"].as_str().and_then(|text| text.split_once("\n\n"));
    let ((_, group), (beginning, _)) = key.zip(parts).expect("a key and two parts");
    (group.to_owned(), beginning.to_owned())
}

#[test]
fn conversations_are_held_to_their_end_and_zero_prompts_are_all_of_them() {
    let folder = Folder::new();
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");
    let line = format!(
        "--simulate ttft=2ms,itl=1ms --backend sglang-oai-chat --dataset-name agentic-trace \
         --dataset-path {fixtures}/sglang/inputs/agentic_trace.json --num-prompts 0 \
         --tokenizer {fixtures}/tokenizers/gpt2 --sharegpt-output-len 3 --request-rate inf \
         --max-concurrency 4 --run-log run.jsonl --output-file result.jsonl"
    );
    let output = folder.run(&line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let result: Value = serde_json::from_str(&folder.read("result.jsonl")).unwrap();
    assert_eq!((&result["completed"], &result["total_output_tokens"]), (&27.into(), &81.into()));
    let log = folder.read("run.jsonl");
    let records = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_longest = |record: &Value| record["index"] == 5 && record["phase"] == "measure";
    let longest = records.map(|line| line["request"].clone()).filter(of_longest);
    let turns: Vec<u64> = longest.map(|record| record["turn"].as_u64().unwrap_or(0)).collect();
    assert_eq!(turns, [0, 1, 2, 3, 4, 5], "each after the one before");
}
