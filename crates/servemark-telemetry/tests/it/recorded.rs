//! Texts of real servers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use servemark_core::{SeriesHead, SeriesKind, Stamp, TelemetryLine, TelemetrySample};
use servemark_telemetry::Readings;

pub(crate) fn text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/exposition");
    fs::read_to_string(folder.join(name)).unwrap()
}

fn read(name: &str) -> (Vec<SeriesHead>, TelemetrySample) {
    let mut readings = Readings::new(0, Arc::default());
    let mut lines = readings.read(&mut text(name).into(), Stamp::ZERO, 0).unwrap();
    let Some(TelemetryLine::Sample(sample)) = lines.pop() else { panic!("no sample") };
    let heads = lines.into_iter().map(|line| match line {
        TelemetryLine::Series(head) => head,
        other => panic!("{other:?}"),
    });
    (heads.collect(), sample)
}

/// Returns the sums of gauges and counters, and the numbers of values in histograms, by name.
fn sums(name: &str) -> BTreeMap<String, f64> {
    let (heads, sample) = read(name);
    let mut sums = BTreeMap::new();
    for (id, value) in &sample.values {
        *sums.entry(heads[*id].name.clone()).or_insert(0.0) += value;
    }
    for (id, reading) in &sample.histograms {
        assert_eq!(reading.counts.len(), heads[*id].bounds.len() + 1);
        assert_eq!(heads[*id].kind, SeriesKind::Histogram);
        *sums.entry(heads[*id].name.clone()).or_insert(0.0) += reading.total();
    }
    sums
}

#[track_caller]
fn has(sums: &BTreeMap<String, f64>, expected: &[(&str, f64)]) {
    for (name, value) in expected {
        assert_eq!(sums.get(*name), Some(value), "{name} of {sums:?}");
    }
}

#[test]
fn vllm() {
    let sums = sums("vllm-0.32.0.metrics.txt");
    let expected = [
        ("running", 0.0),
        ("waiting", 0.0),
        ("kv_use", 0.0),
        ("preemptions", 0.0),
        ("prompt_tokens", 130.0),
        ("generated_tokens", 90.0),
        ("requests", 15.0),
        ("prefix_queries", 130.0),
        ("ttft", 15.0),
        ("itl", 75.0),
        ("e2e", 15.0),
        ("queue_time", 15.0),
    ];
    has(&sums, &expected);
}

#[test]
fn sglang() {
    let sums = sums("sglang-0.5.23.metrics.txt");
    let expected = [
        ("running", 0.0),
        ("waiting", 0.0),
        ("prefix_hit_rate", 0.857_142_857_142_857_1),
        ("prompt_tokens", 89.0),
        ("generated_tokens", 66.0),
        ("cached_tokens", 56.0),
        ("requests", 12.0),
        ("ttft", 12.0),
        ("e2e", 12.0),
        ("itl", 25.0),
        ("queue_time", 13.0),
    ];
    has(&sums, &expected);
}

#[test]
fn llama_cpp() {
    let sums = sums("llamacpp-xllamacpp-2026.10.11549.metrics.txt");
    let expected = [
        ("running", 0.0),
        ("waiting", 0.0),
        ("batch_size", 3.26843),
        ("computed_prompt_tokens", 1129.0),
        ("cached_tokens", 79.0),
        ("generated_tokens", 3458.0),
    ];
    has(&sums, &expected);
}
