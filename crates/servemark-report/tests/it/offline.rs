//! The offline benchmarks' texts and documents, held against vLLM's own.

use std::fs;
use std::path::Path;

use serde_json::Value;
use servemark_metrics::{Audit, MetricPolicy, Metrics};
use servemark_report::{OfflineLatency, OfflineThroughput, Report};

use crate::recorded::Recorded;

fn recorded(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vllm").join(name);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Our text is vLLM's with one line behind it, our document vLLM's with one key behind it.
#[track_caller]
fn check(case: &Value, text: &str, json: &str) {
    let theirs = case["stdout"].as_str().unwrap();
    let (ours, own) = text.trim_end().rsplit_once('\n').unwrap();
    assert!(own.starts_with("Measured over HTTP"), "{own}");
    assert!(theirs.ends_with(&format!("{ours}\n")), "{theirs}");
    let own = ",\n    \"measured_over\": \"http\"\n}";
    assert_eq!(json.strip_suffix(own).map(|rest| format!("{rest}\n}}")), Some(file(case)));
}

fn file(case: &Value) -> String {
    case["file"].as_str().unwrap().to_owned()
}

#[test]
fn throughput_is_told_as_vllm_tells_it() {
    let cases = recorded("throughput.json");
    let told: Vec<_> = cases.iter().filter(|case| !case["file"].is_null()).collect();
    assert_eq!(told.len(), 14, "a case was added or lost");
    for case in told {
        let ours = throughput(case);
        check(case, &ours.to_string(), &ours.to_json());
    }
}

/// What the engine that the recording had in place of a real one gave out.
fn throughput(case: &Value) -> OfflineThroughput {
    let argv: Vec<_> = case["argv"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let rows = case["rows"].as_array().unwrap();
    let sum = |key: &str| rows.iter().filter_map(|row| row[key].as_u64()).sum::<u64>();
    let mut made = of_a_run();
    "tokenizers/gpt2".clone_into(&mut made.model);
    made.seconds = case["seconds"].as_f64().unwrap();
    made.requests = rows.len();
    made.prompt_tokens = sum("prompt_len");
    made.output_tokens = sum("output_len") * if argv.contains(&"--n") { 2 } else { 1 };
    made
}

fn of_a_run() -> OfflineThroughput {
    let log = Recorded::named("brief").golden.log();
    let metrics = Metrics::score(&log, &MetricPolicy::vllm());
    let made = OfflineThroughput::of(&Report::new(&log, &metrics, &Audit::of(&log)));
    assert_eq!((made.requests, made.seconds), (metrics.requests.completed, metrics.duration_s));
    made
}

#[test]
fn latencies_are_told_as_vllm_tells_them() {
    let cases = recorded("latency.json");
    assert_eq!(cases.len(), 3, "a case was added or lost");
    for case in cases {
        let seconds = case["seconds"].as_array().unwrap().iter().filter_map(Value::as_f64);
        let ours = OfflineLatency::new("tokenizers/gpt2", seconds.collect());
        check(&case, &ours.to_string(), &ours.to_json());
    }
}
