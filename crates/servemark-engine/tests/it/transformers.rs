//! A model of Transformers in a worker, with a stand-in that reports the batch of each answer.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use servemark_core::{MonotonicClock, RequestRecord, Sample, Weights};
use servemark_engine::{Engine, EngineRunSpec, PromptForm, Submission, WorkerEngine};

use crate::stage::{block_on, run_samples};
use crate::worker::{object, spec, worker};

fn run_spec(max_batch_size: &Value, n: u64) -> EngineRunSpec {
    let mut worker = worker(WorkerEngine::Transformers, &json!({}));
    worker.args = object(json!({
        "model": "m", "tokenizer": "m", "dtype": "float32", "trust_remote_code": false,
        "torch_compile": true,
    }));
    worker.call = object(json!({"max_batch_size": max_batch_size, "detokenize": true}));
    let mut spec = spec(worker, Submission::AtOnce);
    spec.prompts = PromptForm::Text;
    spec.sampling.temperature = 1.0;
    spec.sampling.extra = object(json!({"n": n, "top_p": 1.0}));
    spec
}

fn recorded() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vllm/throughput.json");
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn prompts_are_batched_as_vllms_benchmark_batches_them() {
    let cases = recorded();
    let cases: Vec<_> = cases.iter().filter(|case| case["batches"].is_array()).collect();
    assert_eq!(cases.len(), 2, "a case was added or lost");
    for case in cases {
        let argv = case["argv"].as_array().unwrap();
        let flag = argv.iter().position(|word| word == "--hf-max-batch-size").unwrap();
        let most: u64 = argv[flag + 1].as_str().unwrap().parse().unwrap();
        let samples = case["rows"].as_array().unwrap().iter().map(sample).collect();
        let records = run_samples(&run_spec(&json!(most), 1), samples).unwrap();
        assert_eq!(json!(batches(&records)), case["batches"], "{argv:?}");
    }
}

fn sample(row: &Value) -> Sample {
    let count = |key: &str| row[key].as_u64().unwrap() as u32;
    Sample::new(row["prompt"].as_str().unwrap(), count("prompt_len"), count("output_len"))
}

/// The number of prompts in each batch, and the number of tokens requested of it.
fn batches(records: &[RequestRecord]) -> Vec<[u64; 2]> {
    let mut batches: Vec<[u64; 2]> = Vec::new();
    for record in records {
        let (batch, most) = record.text.split_once(':').unwrap();
        if batch.parse() == Ok(batches.len() + 1) {
            batches.push([0, most.parse().unwrap()]);
        }
        batches.last_mut().unwrap()[0] += 1;
    }
    batches
}

#[test]
fn tokens_are_counted_to_the_end_of_each_output() {
    let samples = vec![Sample::new("abc", 3, 2), Sample::new("x", 1, 9)];
    let records = run_samples(&run_spec(&json!(2), 2), samples).unwrap();
    for (record, prompt_tokens) in records.iter().zip([3, 1]) {
        assert_eq!(record.text, "1:91:9");
        let usage = record.usage.unwrap();
        assert_eq!(usage.prompt_tokens, Some(prompt_tokens));
        assert_eq!(usage.completion_tokens, Some(8), "two of 1:9 with their ends");
        assert_eq!(record.outcome.as_ref().unwrap().reason.as_deref(), Some("stop"));
    }
    let cut = run_samples(&run_spec(&json!(2), 1), vec![Sample::new("x", 1, 3)]).unwrap();
    assert_eq!(cut[0].outcome.as_ref().unwrap().reason.as_deref(), Some("length"));
}

#[test]
fn it_says_what_it_is() {
    block_on(async {
        let engine = Engine::start(&run_spec(&json!(4), 1), MonotonicClock::start()).await.unwrap();
        let facts = engine.facts();
        assert_eq!(
            (&*facts.name, &*facts.version, facts.weights),
            ("transformers", "0.0.fake", Weights::Real)
        );
        assert_eq!((&*facts.device, &*facts.dtype), ("cpu", "float32"));
        assert_eq!(facts.batch_policy, "batches of at most 4");
        engine.shut_down().await;
    });
}
