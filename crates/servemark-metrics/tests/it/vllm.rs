//! vLLM's stamps give vLLM's numbers, to the nanosecond that a log holds.

use std::time::Duration;

use serde_json::Value;
use servemark_core::{
    Finish, Header, JsonObject, Phase, Recorder, RequestRecord, RunFacts, RunLog, Sample, Stamp,
};
use servemark_metrics::{MetricPolicy, Metrics, Summary};

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

/// Largest rounding error of a latency, in nanoseconds: both ends are rounded.
const ROUNDED_ENDS: f64 = 2.0;

/// Compares two values and returns how many numbers were compared.
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

fn ms(millis: u64) -> Stamp {
    Stamp::ZERO + Duration::from_millis(millis)
}

/// Returns an embedding that was due at once, waited 30 ms in the client, and whose body came 199
/// ms after its headers.
fn embedding() -> RequestRecord {
    let mut recorder = Recorder::new(0, Phase::Measure, &Sample::new("", 5, 0), ms(0));
    recorder.granted(ms(30));
    recorder.record_sent(ms(30));
    recorder.headers(ms(31), 200);
    recorder.body(ms(230), 100);
    recorder.finish(Ok(Finish::default()), ms(230))
}

fn scored(policy: &MetricPolicy) -> Metrics {
    let mut facts = RunFacts::default();
    "/v1/embeddings".clone_into(&mut facts.api_path);
    let log = RunLog::new(Header::new(0, facts, Value::Null), vec![embedding()], None);
    Metrics::score(&log, policy)
}

#[test]
fn an_embedding_ends_with_the_last_byte_of_its_body() {
    for policy in [MetricPolicy::vllm(), MetricPolicy::native()] {
        assert_eq!(scored(&policy).latencies.e2el.mean_ms, Some(200.0), "{}", policy.name);
    }
}

#[test]
fn the_clients_own_queue_is_told_whether_or_not_there_is_a_limit() {
    for policy in [MetricPolicy::vllm(), MetricPolicy::native()] {
        let metrics = scored(&policy);
        assert_eq!(metrics.waits.queue.mean_ms, Some(30.0), "{}", policy.name);
        assert_eq!(metrics.response.e2el.mean_ms, Some(230.0), "{}", policy.name);
    }
}
