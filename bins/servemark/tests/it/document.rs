//! The names in the document of a run that scripts read.

use serde_json::Value;
use servemark_testkit::{ExporterAnswer, ScriptedExporter};
use tempfile::TempDir;

use super::{servemark, text};

const TOKENIZER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/gpt2");

/// Measures a simulator beside an exporter of one GPU. Returns the folder of the run log.
fn measured(simulator: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let exporter = ScriptedExporter::start(|_| {
        ExporterAnswer::Text("DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-a\"} 100\n".to_owned())
    });
    let gpu = exporter.url("/metrics");
    let server = ["bench-serving", "--backend", "sglang", "--simulate", simulator];
    let lengths = ["--random-input-len", "32", "--random-output-len", "4"];
    let load = ["--num-prompts", "40", "--request-rate", "40", "--max-concurrency", "8"];
    let data = ["--dataset-name", "random-ids", "--tokenizer", TOKENIZER, "--run-log", "run.jsonl"];
    let metrics = ["--metrics-url", "auto", "--metrics-interval", "0.1", "--gpu-metrics", &gpu];
    let price = ["--gpus", "1", "--price-per-gpu-hour", "2.5"];
    let all = [&server[..], &lengths, &load, &data, &metrics, &price].concat();
    let run = servemark(&folder, &all);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    folder
}

/// Returns the document of the scored run.
fn document(folder: &TempDir) -> Value {
    let score = servemark(folder, &["score", "run.jsonl", "--json"]);
    serde_json::from_slice(&score.stdout).unwrap()
}

#[track_caller]
fn assert_values(value: &Value, keys: &[&str], is_right: fn(&Value) -> bool) {
    for key in keys {
        assert!(is_right(&value[key]), "{key} of {value:#}");
    }
}

fn part_names(document: &Value) -> Vec<&str> {
    let parts = document["anatomy"]["parts"].as_array().unwrap().iter();
    parts.map(|part| part["name"].as_str().unwrap()).collect()
}

#[test]
fn the_names_that_scripts_read_are_there() {
    let simulator = "ttft=20ms,itl=2ms,frontend=2ms,places=2,network=1ms,cache_blocks=100";
    let folder = measured(simulator);
    let document = document(&folder);
    let anatomy = &document["anatomy"];
    assert_eq!(
        part_names(&document),
        [
            "gate_wait",
            "send_lag",
            "request_transit",
            "server_frontend",
            "server_queue",
            "prefill",
            "inside_server",
            "response_transit",
            "read_lag",
            "decode",
        ]
    );
    let numbers = ["mean_ms", "p50_ms", "p99_ms", "share_of_mean", "share_of_p99"];
    for part in anatomy["parts"].as_array().unwrap() {
        assert_values(part, &numbers, Value::is_number);
    }
    assert_values(&anatomy["clock"], &["offset_ms", "bound_ms"], Value::is_number);
    assert_values(&anatomy["residual_ms"], &["p50", "p99", "p99.9"], Value::is_number);
    let series = document["series"].as_array().unwrap();
    assert!(series.len() > 5, "{series:?}");
    for series in series {
        assert_values(series, &["source", "name", "unit"], Value::is_string);
        assert_values(series, &["labels"], Value::is_object);
        let points = series["points"].as_array().unwrap();
        let is_pair = |point: &Value| point[0].is_number() && point[1].is_number();
        assert!(points.iter().all(is_pair), "{series}");
    }
    let energy = &document["energy"];
    assert_values(energy, &["joules_per_output_token"], Value::is_number);
    assert_values(energy, &["valid"], Value::is_boolean);
    assert_values(energy, &["reasons"], Value::is_array);
    assert_values(&document["cost"], &["per_million_output_tokens"], Value::is_number);
    assert_values(&document["contamination"], &["share", "expected_share"], Value::is_number);
    let limits = document["limits"].as_array().unwrap();
    assert!(!limits.is_empty(), "{document:#}");
    for limit in limits {
        assert_values(limit, &["cause", "evidence", "confidence"], Value::is_string);
    }
    // Energy and cost are compared where both sides have them.
    let compared = servemark(&folder, &["compare", "run.jsonl", "run.jsonl", "--force", "--json"]);
    let compared = text(&compared.stdout);
    for figure in ["joules_per_output_token", "cost_per_million_output_tokens"] {
        assert!(compared.contains(figure), "{figure} is not in {compared}");
    }
}

/// With disaggregated prefill, SGLang's instants are those of the worker that decodes.
#[test]
fn a_transfer_of_caches_is_a_part() {
    let document = document(&measured("ttft=20ms,itl=2ms,kv_transfer=5ms"));
    let names = part_names(&document);
    assert!(names.contains(&"kv_transfer") && !names.contains(&"server_frontend"), "{names:?}");
}
