//! vLLM's scripted runs (`fixtures/vllm/metrics`): the same stamps give its numbers.
//!
//! The fixtures hold times as floats in seconds, a log holds nanoseconds; so numbers are the same
//! to a nanosecond.

use std::fs;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use servemark_core::{
    Delta, ErrorKind, Finish, Footer, Header, JsonObject, Phase, Planned, Recorder, RequestError,
    RequestRecord, RunFacts, RunLog, Sample, Sink, Stamp, Usage,
};
use servemark_metrics::{MetricPolicy, Metrics, Slo, Summary};

#[derive(Deserialize)]
struct Golden {
    #[serde(skip)]
    name: String,
    backend: String,
    args: JsonObject,
    duration: f64,
    outputs: Vec<Output>,
    metrics: JsonObject,
}

#[derive(Deserialize)]
struct Output {
    success: bool,
    start_time: f64,
    latency: f64,
    ttft: f64,
    itl: Vec<f64>,
    #[serde(rename = "output_tokens")]
    tokens: u32,
    #[serde(rename = "prompt_len")]
    prompt: u32,
    num_input_sequences: u32,
    error: String,
}

impl Golden {
    /// The runs in which the server counted; where it did not, the peer asks a tokenizer.
    fn all() -> Vec<Self> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/vllm/metrics");
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let read = |path: std::path::PathBuf| Self {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            ..serde_json::from_slice(&fs::read(&path).unwrap()).unwrap()
        };
        let all: Vec<Self> = paths.map(read).collect();
        let counted = all.into_iter().filter(|golden| !golden.name.starts_with("uncounted"));
        counted.collect()
    }

    fn generates(&self) -> bool {
        self.backend.starts_with("openai") && !self.backend.contains("embeddings")
    }

    fn policy(&self) -> MetricPolicy {
        let slos = self.args["goodput"].as_array().into_iter().flatten();
        let slos = slos.map(|slo| slo.as_str().unwrap().parse::<Slo>().unwrap());
        let mut policy = MetricPolicy::vllm().with_slos(slos);
        let percentiles = self.args["metric_percentiles"].as_str().unwrap().split(',');
        policy.percentiles = percentiles.map(|percent| percent.parse().unwrap()).collect();
        policy
    }

    fn log(&self) -> RunLog {
        let mut facts = RunFacts::default();
        facts.backend.clone_from(&self.backend);
        let route = if self.generates() { "completions" } else { "embeddings" };
        facts.api_path = format!("/v1/{route}");
        facts.requests = self.outputs.len();
        let first = self.outputs.iter().map(|output| output.start_time);
        let mut footer = Footer::default();
        footer.ended = stamp(first.fold(f64::INFINITY, f64::min))
            + Duration::from_nanos(stamp(self.duration).as_nanos());
        let records = self.outputs.iter().enumerate();
        let records = records.map(|(index, output)| self.record(index, output)).collect();
        RunLog::new(Header::new(0, facts, Value::Null), records, Some(footer))
    }

    fn record(&self, index: usize, output: &Output) -> RequestRecord {
        // What was planned must not count.
        let sample = Sample::new("", 1_000_000, 1_000_000);
        let due = stamp(output.start_time);
        let mut recorder = Recorder::new(index, Phase::Measure, &sample, due);
        recorder.sent(due);
        let mut end = output.start_time + output.latency;
        if output.success && self.generates() {
            let mut now = output.start_time + output.ttft;
            recorder.at(stamp(now)).delta(Delta::content("x"));
            for gap in &output.itl {
                now += gap;
                recorder.at(stamp(now)).delta(Delta::content("x"));
            }
            // The counts and the end mark come later, and that must not count either.
            end += 0.25;
        }
        let completion = Some(output.tokens).filter(|_| self.generates());
        recorder.at(stamp(end)).usage(Usage::new(Some(output.prompt), completion));
        recorder.body(stamp(end), 1);
        let failure = || RequestError::new(ErrorKind::Status, output.error.as_str());
        let outcome = output.success.then(Finish::default).ok_or_else(failure);
        let mut record = recorder.finish(outcome, stamp(end));
        record.planned = Planned::default();
        record.planned.items = output.num_input_sequences;
        record
    }
}

#[test]
fn every_number_is_the_peers_to_a_nanosecond() {
    let mut compared = 0;
    for golden in Golden::all() {
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

#[expect(clippy::cast_sign_loss, reason = "the fixtures' clocks start at zero")]
fn stamp(seconds: f64) -> Stamp {
    Stamp::from_nanos((seconds * 1e9).round() as u64)
}
