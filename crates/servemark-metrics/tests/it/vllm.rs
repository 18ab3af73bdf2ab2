//! The same stamps give vLLM's numbers, to the nanosecond that a log holds.

use serde_json::Value;
use servemark_core::JsonObject;
use servemark_metrics::{Metrics, Summary};

use crate::vllm_golden::Golden;

#[test]
fn every_number_is_the_peers_to_a_nanosecond() {
    let mut compared = 0;
    for golden in Golden::paths("metrics").map(|path| Golden::read(&path)) {
        let metrics = Metrics::score(&golden.log(), &golden.policy());
        let ours = by_the_peers_names(&metrics, golden.generates());
        for (key, expected) in golden.metrics.iter().filter(|(key, _)| *key != "rtfx") {
            compared += check(&format!("{} {key}", golden.name), &ours[key], expected);
        }
    }
    assert!(compared > 500, "only {compared} numbers were compared");
}

/// Both ends of a latency are rounded to a nanosecond.
const ROUNDED_ENDS: f64 = 2.0;

/// How many numbers were compared.
fn check(name: &str, ours: &Value, expected: &Value) -> usize {
    if let Value::Array(expected) = expected {
        let ours = ours.as_array().unwrap();
        assert_eq!(ours.len(), expected.len(), "{name}");
        return ours.iter().zip(expected).map(|(ours, known)| check(name, ours, known)).sum();
    }
    let (ours, expected) = (ours.as_f64().expect(name), expected.as_f64().unwrap());
    let unit = if name.ends_with("_ms") { 1e-6 } else { 1e-9 };
    let allowed = ROUNDED_ENDS * unit + expected.abs() * 1e-8;
    assert!((ours - expected).abs() <= allowed, "{name}: {ours} is not {expected}");
    1
}

fn by_the_peers_names(metrics: &Metrics, generates: bool) -> JsonObject {
    let (tokens, rates) = (&metrics.tokens, &metrics.throughput);
    let numbers = [
        ("completed", Some(metrics.requests.completed as f64)),
        ("failed", Some(metrics.requests.failed as f64)),
        ("total_input", Some(tokens.input as f64)),
        ("total_output", Some(tokens.output.unwrap_or_default() as f64)),
        ("total_input_sequences", Some(metrics.items.items as f64)),
        ("request_throughput", rates.requests_per_s),
        ("input_sequence_throughput", metrics.items.items_per_s),
        ("output_throughput", rates.output_tokens_per_s.or(Some(0.0))),
        ("total_token_throughput", rates.total_tokens_per_s),
        ("max_output_tokens_per_s", Some(rates.peak_output_tokens_per_s as f64)),
        ("max_concurrent_requests", Some(metrics.concurrency.peak as f64)),
        (
            "request_goodput",
            metrics.goodput.as_ref().map_or(Some(0.0), |goodput| goodput.requests_per_s),
        ),
    ];
    let mut all: JsonObject =
        numbers.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
    let latencies = &metrics.latencies;
    if generates {
        all.extend(family("ttft", &latencies.ttft, metrics));
        all.extend(family("tpot", &latencies.tpot, metrics));
        all.extend(family("itl", &latencies.itl, metrics));
    }
    all.extend(family("e2el", &latencies.e2el, metrics));
    all
}

fn family(name: &str, summary: &Summary, metrics: &Metrics) -> JsonObject {
    let percentiles = metrics.policy.percentiles.iter();
    let percentiles: Value = percentiles
        .map(|&percent| Value::from(vec![Some(percent), summary.percentile_ms(percent)]))
        .collect();
    let numbers = [
        ("mean", summary.mean_ms.into()),
        ("median", summary.median_ms.into()),
        ("std", summary.std_ms.into()),
        ("percentiles", percentiles),
    ];
    numbers.into_iter().map(|(of, value)| (format!("{of}_{name}_ms"), value)).collect()
}
