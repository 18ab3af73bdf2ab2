//! The peer's stamps give the peer's numbers.

use servemark_core::JsonObject;
use servemark_metrics::{Metrics, Summary};

use crate::golden::Golden;

#[test]
fn every_number_is_the_peers_bit_for_bit() {
    compare(exactly, |key, actual, expected| {
        assert_eq!(actual.to_bits(), expected.to_bits(), "{key}: {actual} is not {expected}");
    });
}

#[test]
fn every_number_of_a_recorded_run_is_the_peers_to_a_nanosecond() {
    compare(as_recorded, |key, actual, expected| {
        let unit = if key.ends_with("_ms") { 1e-6 } else { 1e-9 };
        let allowed = ROUNDED_ENDS * unit + expected.abs() * 1e-9;
        assert!((actual - expected).abs() <= allowed, "{key}: {actual} is not {expected}");
    });
}

/// Largest rounding error of a latency, in nanoseconds: both ends are rounded.
const ROUNDED_ENDS: f64 = 2.0;

fn exactly(golden: &Golden) -> Metrics {
    let log = golden.log();
    Metrics::of_scores(&log, &golden.policy(), &golden.exact_scores(&log))
}

fn as_recorded(golden: &Golden) -> Metrics {
    Metrics::score(&golden.log(), &golden.policy())
}

fn compare(score: fn(&Golden) -> Metrics, check: impl Fn(&str, f64, f64)) {
    let mut compared = 0;
    for golden in Golden::all() {
        let Some(expected) = &golden.metrics else { continue };
        assert!(golden.console.is_some() && golden.jsonl.is_some(), "recorded by halves");
        let actual = by_the_peers_names(&score(&golden));
        for (key, value) in expected.iter().filter(|(key, _)| !is_unprinted(key)) {
            let name = format!("{} {key}", golden.name);
            check(&name, actual[key].as_f64().unwrap(), value.as_f64().unwrap());
            compared += 1;
        }
    }
    assert!(compared > 1000, "only {compared} numbers were compared");
}

/// Returns whether the peer computes a figure but does not print it.
fn is_unprinted(key: &str) -> bool {
    key.ends_with("throughput_retokenized")
}

fn by_the_peers_names(metrics: &Metrics) -> JsonObject {
    let (tokens, rates) = (&metrics.tokens, &metrics.throughput);
    let numbers = [
        ("completed", Some(metrics.requests.completed as f64)),
        ("total_input", Some(tokens.input as f64)),
        ("total_input_text", Some(tokens.input_text as f64)),
        ("total_input_vision", Some(tokens.input_vision as f64)),
        ("total_output", Some(tokens.output.unwrap_or_default() as f64)),
        ("total_output_retokenized", tokens.output_retokenized.map(|tokens| tokens as f64)),
        ("request_throughput", rates.requests_per_s),
        ("input_throughput", rates.input_tokens_per_s),
        ("output_throughput", rates.output_tokens_per_s.or(Some(0.0))),
        ("total_throughput", rates.total_tokens_per_s),
        ("concurrency", metrics.concurrency.mean),
        ("max_output_tokens_per_s", Some(rates.peak_output_tokens_per_s as f64)),
        ("max_concurrent_requests", Some(metrics.concurrency.peak as f64)),
        ("max_itl_ms", metrics.latencies.itl.max_ms),
    ];
    let mut all: JsonObject =
        numbers.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
    all.extend(family("ttft", &metrics.latencies.ttft));
    all.extend(family("tpot", &metrics.latencies.tpot));
    all.extend(family("itl", &metrics.latencies.itl));
    all.extend(family("e2e_latency", &metrics.latencies.e2el));
    all
}

fn family(name: &str, summary: &Summary) -> JsonObject {
    let numbers = [
        ("mean", summary.mean_ms),
        ("median", summary.median_ms),
        ("std", summary.std_ms),
        ("p90", summary.percentile_ms(90.0)),
        ("p95", summary.percentile_ms(95.0)),
        ("p99", summary.percentile_ms(99.0)),
    ];
    numbers.into_iter().map(|(of, value)| (format!("{of}_{name}_ms"), value.into())).collect()
}
