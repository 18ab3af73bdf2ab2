//! A run as a benchmark report of llm-d, version 0.2.
//!
//! The schema is that of `benchmark_report` in llm-d-benchmark: keys that it does not name are
//! refused there. The document is JSON, which its YAML reader accepts too.

use std::io;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use servemark_core::{RunFacts, RunLog};
use servemark_metrics::{Audit, MetricPolicy, Metrics, RequestScore, Summary};

use crate::{Report, ReportFormat};

/// Benchmark report of llm-d, version 0.2. A distribution has those percentiles of
/// [`PERCENTILES`](Self::PERCENTILES) that the metrics of the report have.
#[derive(Clone, Copy, Debug, Default)]
pub struct BenchmarkReport;

impl BenchmarkReport {
    /// Percentiles that the schema has a key for.
    pub const PERCENTILES: [f64; 11] =
        [0.1, 1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9];

    /// Writes the report of a log, by Servemark's own definitions and with all percentiles.
    pub fn write_log(log: &RunLog, out: &mut dyn io::Write) -> io::Result<()> {
        let mut policy = MetricPolicy::native();
        policy.percentiles = Self::PERCENTILES.to_vec();
        let metrics = Metrics::score(log, &policy);
        Self.write(&Report::new(log, &metrics, &Audit::of(log)), out)
    }
}

impl ReportFormat for BenchmarkReport {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let document = json!({
            "version": "0.2",
            "run": run(report),
            "scenario": {"stack": [server(report)], "load": load(report)},
            "results": {"request_performance": {"aggregate": {
                "requests": requests(report),
                "latency": latency(report),
                "throughput": throughput(report.metrics),
            }}},
        });
        serde_json::to_writer_pretty(&mut *out, &document)?;
        out.write_all(b"\n")
    }
}

/// Returns the identity and the time of the run. The start of its clock in nanoseconds tells it from
/// other runs.
fn run(report: &Report<'_>) -> Value {
    let started = report.log.header().clock_started_unix_ns;
    let at = |ns: u64| {
        let since_1970 = started.saturating_add(ns).into();
        Timestamp::from_nanosecond(since_1970).unwrap_or_default().to_string()
    };
    let measured = || report.log.measured();
    let start = measured().map(|record| record.scheduled.as_nanos()).min().unwrap_or_default();
    let end = measured().map(|record| record.ended.as_nanos()).max().unwrap_or_default();
    let duration = format!("PT{}S", report.metrics.duration_s);
    json!({
        "uid": format!("servemark-{started}"),
        "time": {"start": at(start), "end": at(end), "duration": duration},
    })
}

/// Returns the server as a component of no special kind: a client does not know the accelerators
/// that the kind `inference_engine` requires.
fn server(report: &Report<'_>) -> Value {
    let header = report.log.header();
    let (tool, version) = match &header.engine {
        Some(engine) => (engine.name.clone(), engine.version.clone()),
        None => (header.facts.backend.clone(), "unknown".to_owned()),
    };
    json!({
        "metadata": {"label": header.facts.target, "cfg_id": ""},
        "standardized": {
            "kind": "generic",
            "tool": tool,
            "tool_version": version,
            "model": header.facts.model,
        },
        "native": {"config": header.server_info},
    })
}

fn load(report: &Report<'_>) -> Value {
    let header = report.log.header();
    let facts = &header.facts;
    let scores = report.scores();
    let prompts: Vec<u32> = scores.iter().map(|score| score.prompt_tokens).collect();
    let source = if facts.dataset.contains("random") { "random" } else { "sampled" };
    let mut standardized = json!({
        "tool": "servemark",
        "tool_version": header.servemark,
        "source": source,
        "input_seq_len": sequence_length(&prompts),
    });
    let RunFacts { request_rate, max_concurrency, .. } = facts;
    if let Some(rate) = request_rate.filter(|rate| *rate > 0.0) {
        standardized["rate_qps"] = json!(rate);
    }
    if let Some(limit) = max_concurrency {
        standardized["concurrency"] = json!(limit);
    }
    let description = format!("{}, {} requests", facts.dataset, facts.requests);
    json!({
        "metadata": {"description": description},
        "standardized": standardized,
        "native": {"config": header.plan},
    })
}

/// Returns lengths in tokens as the schema describes a load; its least value is 1.
fn sequence_length(lengths: &[u32]) -> Value {
    let count = lengths.len().max(1) as f64;
    let mean = lengths.iter().map(|length| f64::from(*length)).sum::<f64>() / count;
    let least = lengths.iter().min().copied().unwrap_or(1);
    let most = lengths.iter().max().copied().unwrap_or(1).max(1);
    let kind = if least == most { "fixed" } else { "other" };
    json!({"distribution": kind, "value": mean.max(1.0), "min": least, "max": most})
}

fn requests(report: &Report<'_>) -> Value {
    let counts = report.metrics.requests;
    let scores = report.scores();
    let good = || scores.iter().filter(|score| score.success);
    let inputs = good().map(|score| f64::from(score.prompt_tokens));
    let outputs = good().filter_map(|score| Some(score.output_tokens?.0 as f64));
    let mut requests = json!({
        "total": counts.completed + counts.failed,
        "failures": counts.failed,
        "incomplete": counts.unfinished(),
    });
    for (key, lengths) in [("input_length", inputs.collect()), ("output_length", outputs.collect())]
    {
        let lengths: Vec<f64> = lengths;
        if let Some((least, most)) = bounds(lengths.iter().copied()) {
            let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
            requests[key] = json!({"units": "count", "mean": mean, "min": least, "max": most});
        }
    }
    requests
}

fn bounds(values: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    values.clone().reduce(f64::min).zip(values.reduce(f64::max))
}

fn latency(report: &Report<'_>) -> Value {
    let latencies = &report.metrics.latencies;
    let all = [
        ("time_to_first_token", "ms", statistics(&latencies.ttft)),
        ("time_per_output_token", "ms/token", statistics(&latencies.tpot)),
        ("inter_token_latency", "ms/token", statistics(&latencies.itl)),
        ("request_latency", "ms", statistics(&latencies.e2el)),
        ("normalized_time_per_output_token", "ms/token", normalized(&report.scores())),
    ];
    let known = all.into_iter().filter_map(|(key, units, statistics)| {
        let mut statistics = statistics?;
        statistics.insert("units".to_owned(), json!(units));
        Some((key.to_owned(), Value::Object(statistics)))
    });
    Value::Object(known.collect())
}

fn statistics(summary: &Summary) -> Option<Map<String, Value>> {
    let mut statistics = Map::new();
    statistics.insert("mean".to_owned(), json!(summary.mean_ms?));
    let sizes = [("stddev", summary.std_ms), ("min", summary.min_ms), ("max", summary.max_ms)];
    let percentiles = BenchmarkReport::PERCENTILES.into_iter().map(|percent| {
        let key = format!("p{percent}").replace('.', "p");
        (key, summary.percentile_ms(percent))
    });
    let all = sizes.into_iter().map(|(key, value)| (key.to_owned(), value)).chain(percentiles);
    statistics.extend(all.filter_map(|(key, value)| Some((key, json!(value?)))));
    Some(statistics)
}

/// Returns the mean time of a request divided by its number of output tokens.
fn normalized(scores: &[RequestScore<'_>]) -> Option<Map<String, Value>> {
    let each = scores.iter().filter(|score| score.success).filter_map(|score| {
        let (tokens, _) = score.output_tokens.filter(|(tokens, _)| *tokens > 0)?;
        Some(score.latency_s * 1000.0 / tokens as f64)
    });
    let each: Vec<f64> = each.collect();
    let mean = each.iter().sum::<f64>() / each.len() as f64;
    (!each.is_empty()).then(|| Map::from_iter([("mean".to_owned(), json!(mean))]))
}

fn throughput(metrics: &Metrics) -> Value {
    let rates = &metrics.throughput;
    let all = [
        ("input_token_rate", "tokens/s", rates.input_tokens_per_s),
        ("output_token_rate", "tokens/s", rates.output_tokens_per_s),
        ("total_token_rate", "tokens/s", rates.total_tokens_per_s),
        ("request_rate", "queries/s", rates.requests_per_s),
    ];
    let known = all.into_iter().filter_map(|(key, units, rate)| {
        Some((key.to_owned(), json!({"units": units, "mean": rate?})))
    });
    Value::Object(known.collect())
}
