//! vLLM's offline benchmarks with a stand-in for the engine. They need `python3`, which the
//! project's checks install.

use std::fs;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::text;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");

/// Runs `vllm bench COMMAND …` with the stand-in in a folder.
fn bench(folder: &TempDir, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_servemark"));
    command.current_dir(folder).args(["vllm", "bench"]).args(line.split_whitespace());
    command.args(["--model", &format!("{FIXTURES}/tokenizers/spm-unigram-botchan-1000")]);
    command.args(["--run-log", "run.jsonl", "--output-json", "out.json"]);
    command.env("PYTHONPATH", format!("{FIXTURES}/engines")).env("PYTHONDONTWRITEBYTECODE", "1");
    command.output().unwrap()
}

fn result(folder: &TempDir) -> Value {
    serde_json::from_slice(&fs::read(folder.path().join("out.json")).unwrap()).unwrap()
}

fn log(folder: &TempDir) -> Vec<Value> {
    let log = fs::read_to_string(folder.path().join("run.jsonl")).unwrap();
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn throughput_is_told_as_vllm_tells_it() {
    for more in ["", "--async-engine", "--prequeue-requests --disable-detokenize"] {
        let folder = tempfile::tempdir().unwrap();
        let run = bench(&folder, &format!("{THROUGHPUT} --n 2 --num-warmups 3 {more}"));
        assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
        let printed = text(&run.stdout);
        let lines: Vec<&str> = printed.lines().collect();
        assert!(lines[0].starts_with("Throughput: ") && lines[0].ends_with(" output tokens/s"));
        assert!(lines[1].starts_with("Total num prompt tokens:  "), "{printed}");
        assert_eq!(lines[2], "Total num output tokens:  40", "4 prompts, 2 outputs of 5 each");
        assert_eq!(lines[3], "Measured around the engine's own calls.");
        let out = result(&folder);
        assert_eq!(keys(&out)[..6], THROUGHPUT_KEYS);
        assert_eq!((&out["num_requests"], &out["measured_over"]), (&json!(4), &json!("calls")));
        let log = log(&folder);
        assert_eq!(log[0]["header"]["engine"]["version"], "0.0.fake");
        let of = |phase: &str| log.iter().filter(|line| line["request"]["phase"] == phase).count();
        assert_eq!((of("warmup"), of("measure")), (3, 4));
    }
}

#[test]
fn conversations_adapters_and_transformers_are_told_of_alike() {
    let ways = [
        ("--backend vllm-chat", "vllm"),
        ("--enable-lora --max-loras 2 --lora-path an/adapter", "vllm"),
        ("--backend hf --hf-max-batch-size 3", "transformers"),
    ];
    for (way, name) in ways {
        let folder = tempfile::tempdir().unwrap();
        let run = bench(&folder, &format!("{THROUGHPUT} --num-warmups 1 {way}"));
        assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
        let out = result(&folder);
        assert_eq!((&out["num_requests"], &out["measured_over"]), (&json!(4), &json!("calls")));
        assert_eq!(log(&folder)[0]["header"]["engine"]["name"], name);
    }
}

#[test]
fn a_batch_after_the_other_is_told_as_vllm_tells_it() {
    let folder = tempfile::tempdir().unwrap();
    let run = bench(&folder, &format!("{LATENCY} --use-beam-search --n 2"));
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let printed = text(&run.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[0], "Warming up...");
    assert!(lines[1].starts_with("Avg latency: ") && lines[1].ends_with(" seconds"), "{printed}");
    for (line, percent) in lines[2..].iter().zip([10, 25, 50, 75, 90, 99]) {
        assert!(line.starts_with(&format!("{percent}% percentile latency: ")), "{printed}");
    }
    let out = result(&folder);
    assert_eq!(keys(&out)[..4], ["model_id", "avg_latency", "latencies", "percentiles"]);
    assert_eq!(out["latencies"].as_array().unwrap().len(), 3);
}

#[test]
fn what_the_engine_would_cut_short_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = bench(&folder, &format!("{LATENCY} --max-model-len 8"));
    assert_eq!(run.status.code(), Some(2));
    let errors = text(&run.stderr);
    assert!(errors.contains("a request has 9 tokens, prompt and output together"), "{errors}");
}

#[test]
fn an_engine_that_dies_has_the_last_word() {
    let folder = tempfile::tempdir().unwrap();
    let run = bench(&folder, &format!("{THROUGHPUT} --fake {{\"crash_at\":2}}"));
    assert_eq!(run.status.code(), Some(1));
    assert!(text(&run.stderr).ends_with("the engine is about to die\n"), "{}", text(&run.stderr));
    assert!(!folder.path().join("out.json").exists());
}

#[test]
fn an_argument_that_no_engine_has_is_its_own_parsers_to_refuse() {
    let folder = tempfile::tempdir().unwrap();
    let run = bench(&folder, &format!("{THROUGHPUT} --such-a-thing 3"));
    assert_eq!(run.status.code(), Some(4));
    let errors = text(&run.stderr);
    assert!(errors.contains("unrecognized arguments: --such-a-thing 3"), "{errors}");
}

#[test]
fn an_engine_that_is_not_there_is_refused_before_anything_is_prepared() {
    let lines = [
        ("vllm bench throughput --num-prompts 4 --model", "python3 has no module named vllm"),
        ("bench-offline --engine sglang --num-prompts 4 --model-path", "no module named sglang"),
    ];
    for (line, why) in lines {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_servemark"));
        command.current_dir(&folder).env_remove("PYTHONPATH").env("HF_HUB_OFFLINE", "1");
        // Loading this tokenizer before the check of the engine would fail with another message.
        let run = command.args(line.split_whitespace()).arg("no/such-tokenizer").output().unwrap();
        let errors = text(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{errors}");
        assert!(errors.contains(why), "{errors}");
        assert!(!errors.contains("tokenizer"), "{errors}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{errors}");
    }
}

const THROUGHPUT: &str = "throughput --num-prompts 4 --random-input-len 6 --random-output-len 5";

const LATENCY: &str =
    "latency --batch-size 2 --num-iters 3 --num-iters-warmup 1 --input-len 4 --output-len 5";

const THROUGHPUT_KEYS: [&str; 6] = [
    "model_id",
    "elapsed_time",
    "num_requests",
    "total_num_tokens",
    "requests_per_second",
    "tokens_per_second",
];
