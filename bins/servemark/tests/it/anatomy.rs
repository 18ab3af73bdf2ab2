//! The parts of requests that the program reports, compared with what the server really did.

use std::num::NonZeroUsize;
use std::time::Duration;

use serde_json::Value;
use servemark_mock::{MockServer, MockSpec, TruthRow};

use super::{servemark, text};

const TOKENIZER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/gpt2");

/// A server with a queue, whose clock is wrong by `skew_ms`. With a transfer of caches, its
/// instants are those of the decoding worker.
fn server(skew_ms: f64, kv_transfer_ms: u64) -> MockServer {
    let mut spec = MockSpec::new(Duration::from_millis(30), Duration::from_millis(1));
    spec.frontend = Duration::from_millis(3);
    spec.kv_transfer = Duration::from_millis(kv_transfer_ms);
    spec.network = Duration::from_millis(5);
    spec.places = NonZeroUsize::new(4);
    spec.clock_skew_ms = skew_ms;
    MockServer::start(spec).unwrap()
}

/// Measures a server with SGLang's own route. Returns the document of the scored run.
fn measured(server: &MockServer) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let url = server.base_url();
    let target = ["bench-serving", "--backend", "sglang", "--base-url", &url, "--model", "mock"];
    let lengths = ["--random-input-len", "16", "--random-output-len", "4"];
    let load = ["--num-prompts", "120", "--request-rate", "110", "--warmup-requests", "0"];
    let data = ["--dataset-name", "random-ids", "--tokenizer", TOKENIZER, "--run-log", "run.jsonl"];
    let run = servemark(&folder, &[&target[..], &lengths, &load, &data].concat());
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let score = servemark(&folder, &["score", "run.jsonl", "--json"]);
    serde_json::from_slice(&score.stdout).unwrap()
}

/// Reads the nanoseconds of a part.
type PartOf = fn(&TruthRow) -> u64;

/// Returns the 99th percentile of a part, interpolated linearly between neighbours.
fn p99_ms(truth: &[TruthRow], of: PartOf) -> f64 {
    let mut all: Vec<f64> = truth.iter().map(|row| of(row) as f64 / 1e6).collect();
    all.sort_unstable_by(f64::total_cmp);
    let hundredths = 99 * (all.len() - 1);
    let (place, rest) = (hundredths / 100, hundredths % 100);
    all[place] + (all[place + 1] - all[place]) * rest as f64 / 100.0
}

#[test]
fn parts_are_those_of_a_server_whose_clock_is_five_seconds_off() {
    let parts: [(&str, PartOf); 4] = [
        ("server_frontend", |row| row.parts.unwrap().frontend_ns),
        ("server_queue", |row| row.parts.unwrap().queue_ns),
        ("prefill", |row| row.parts.unwrap().prefill_ns),
        ("kv_transfer", |row| row.parts.unwrap().kv_transfer_ns),
    ];
    for (skew_ms, kv_transfer_ms) in [(5000.0, 0), (-5000.0, 0), (5000.0, 7), (-5000.0, 7)] {
        let server = server(skew_ms, kv_transfer_ms);
        let expected = if kv_transfer_ms > 0 { &parts[1..] } else { &parts[..3] };
        let document = measured(&server);
        let truth = server.take_truth();
        assert_eq!(truth.len(), 120);
        let anatomy = &document["anatomy"];
        let part = |name: &str| {
            let mut parts = anatomy["parts"].as_array().unwrap().iter();
            parts.find(|part| part["name"] == name).unwrap_or_else(|| panic!("{name}: {anatomy}"))
        };
        for (name, of) in expected {
            let (told, truth) = (part(name)["p99_ms"].as_f64().unwrap(), p99_ms(&truth, *of));
            assert!((told - truth).abs() < 0.2, "{name}: {told} is not {truth}");
        }
        assert!(part("server_queue")["p99_ms"].as_f64().unwrap() > 5.0, "{anatomy}");
        // A busy machine delays single wake-ups, and such a delay counts as transit.
        for name in ["request_transit", "response_transit"] {
            let told = part(name)["p50_ms"].as_f64().unwrap();
            assert!((told - 5.0).abs() < 1.0, "{name}: {told}");
        }
        let clock = &anatomy["clock"];
        let (offset, bound) = (clock["offset_ms"].as_f64(), clock["bound_ms"].as_f64());
        assert!((offset.unwrap() - skew_ms).abs() <= bound.unwrap(), "{clock}");
        assert!(bound.unwrap() < 6.0, "{clock}");
        assert!(anatomy["residual_ms"]["p99.9"].as_f64().unwrap() < 0.1, "{anatomy}");
    }
}
