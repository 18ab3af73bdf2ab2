//! Metrics that are read beside a measurement, from the simulator and from an address where
//! nothing is.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use servemark::backends::BackendName;
use servemark::core::{RunLog, RunLogReader};
use servemark::metrics::{CountedTwice, HistogramSummary, RunSeries, SeriesSummary};
use servemark::mock::MockSpec;
use servemark::plan::{BenchPlan, Layout, MetricsSource, ServerSpec, TelemetrySpec};
use servemark::{RunContext, Scores, execute};
use servemark_testkit::{ExporterAnswer, ScriptedExporter};

use crate::listener::Warnings;
use crate::runs::plan;

/// A run with a queue, read at its server and at an address with secrets where nothing is.
fn watched() -> BenchPlan {
    let mut plan = plan(BackendName::Sglang, &[]);
    let mut mock = MockSpec::new(Duration::from_millis(40), Duration::from_millis(4));
    mock.places = NonZeroUsize::new(5);
    plan.server = ServerSpec::Simulated(mock);
    let nowhere = "http://me:s3cr3t@127.0.0.1:1/metrics?key=hush".parse().unwrap();
    let mut spec = TelemetrySpec::new(vec![MetricsSource::Server, MetricsSource::Url(nowhere)]);
    spec.interval = Duration::from_millis(50);
    plan.control.telemetry = Some(spec);
    plan
}

fn run(plan: &BenchPlan) -> (RunLog, Vec<String>) {
    let warnings = Arc::new(Warnings::default());
    let log = execute(plan, &RunContext::new(Arc::clone(&warnings) as Arc<_>)).unwrap().log;
    let warnings = warnings.0.lock().unwrap().clone();
    (log, warnings)
}

#[test]
fn a_servers_metrics_are_series_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = watched();
    plan.output.run_log = Some(folder.path().join("run.jsonl"));
    let (log, warnings) = run(&plan);
    let waiting: Vec<_> = warnings.iter().filter(|text| text.contains("127.0.0.1:1")).collect();
    assert_eq!(waiting.len(), 1, "{warnings:?}");
    let series = RunSeries::of(&log);
    let summary = |name: &str| {
        let all = SeriesSummary::of(&log, &series);
        all.into_iter().find(|summary| summary.name == name).unwrap()
    };
    // All twenty requests come at once, and five are served.
    assert!(
        (summary("running").max - 5.0).abs() < 0.5 && summary("waiting").max > 5.0,
        "{series:?}"
    );
    assert!(summary("generated_tokens").max > 0.0);
    assert_eq!((series.gaps.len(), series.gaps[0].to_s), (1, None));
    let first = series.series.iter().find(|series| series.name == "running").unwrap().points[0].0;
    assert!(first < 0.0, "it is read before the first request is due: {first}");
    let counted = CountedTwice::of(&log);
    assert_eq!(counted.len(), 3, "{counted:?}");
    assert!(counted.iter().all(CountedTwice::agrees), "{counted:?}");
    let histograms = HistogramSummary::of(&log);
    let ttft = histograms.iter().find(|histogram| histogram.name == "ttft").unwrap();
    assert!((ttft.count - 20.0).abs() < 0.5, "{ttft:?}");
    // The log on disk says the same, and no secret.
    let path = folder.path().join("run.jsonl");
    let read = RunLogReader::open(&path).unwrap().into_log().unwrap();
    assert_eq!((read.telemetry(), RunSeries::of(&read)), (log.telemetry(), series));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("hush") && !text.contains("s3cr3t"));
}

#[test]
fn an_address_that_is_given_twice_is_read_once() {
    let exporter = ScriptedExporter::start(|_| {
        ExporterAnswer::Text("vllm:num_requests_waiting 3\n".to_owned())
    });
    let mut plan = watched();
    let url = |query: &str| exporter.url(&format!("/metrics{query}")).parse().unwrap();
    let urls = [url(""), url(""), url("?pod=a"), url("?pod=b")].map(MetricsSource::Url);
    plan.control.telemetry = Some(TelemetrySpec::new(urls.to_vec()));
    let (log, warnings) = run(&plan);
    assert_eq!(log.telemetry().sources.len(), 3);
    assert!(RunSeries::of(&log).gaps.is_empty());
    let twice: Vec<_> = warnings.iter().filter(|it| it.contains("is given twice")).collect();
    assert_eq!(twice.len(), 1, "{warnings:?}");
}

#[test]
fn tables_and_json_show_what_was_seen() {
    let mut plan = watched();
    plan.scoring.layouts = vec![Layout::Native];
    let (log, _) = run(&plan);
    let scores = Scores::of(&log, &plan.scoring);
    let mut out = Vec::new();
    scores.write_tables(&mut out).unwrap();
    let table = String::from_utf8(out).unwrap();
    for text in
        ["Seen at http://127.0.0.1", "waiting", "By the histograms of", "counted twice", "gap"]
    {
        assert!(table.contains(text), "{text} is not in {table}");
    }
    let mut out = Vec::new();
    scores.write_json(&mut out).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let running = json["series"]
        .as_array()
        .unwrap()
        .iter()
        .find(|series| series["name"] == "running")
        .unwrap();
    assert!(running["points"][0][0].is_number() && running["source"].is_string());
    assert_eq!(json["counted_twice"][0]["name"], "requests");
}

#[test]
fn a_run_without_sources_has_no_series() {
    let mut plan = watched();
    plan.control.telemetry = None;
    let (log, warnings) = run(&plan);
    assert!(log.telemetry().is_empty() && warnings.is_empty());
    assert!(RunSeries::of(&log).is_empty());
}
