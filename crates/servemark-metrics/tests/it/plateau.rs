//! Compares the plateau of a run with the result of vLLM's Rust client.

use std::fs;

use serde_json::Value;
use servemark_core::{
    Delta, Finish, Footer, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog, Sample, Sink,
    Stamp, Usage,
};
use servemark_metrics::{ConcurrencyRatio, MetricPolicy, Metrics, Plateau, PlateauSpec, Summary};

/// Reads a result of vLLM's Rust client.
fn recorded(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/vllm/rust");
    serde_json::from_slice(&fs::read(format!("{folder}/{name}")).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

#[expect(clippy::cast_sign_loss, reason = "a run's times are not negative")]
fn stamp(seconds: f64) -> Stamp {
    Stamp::from_nanos((seconds * 1e9).round() as u64)
}

/// Converts the recorded run to a log.
fn log(result: &Value) -> RunLog {
    let mut facts = RunFacts::default();
    "/v1/completions".clone_into(&mut facts.api_path);
    facts.max_concurrency = result["max_concurrency"].as_u64().map(|limit| limit as usize);
    let count = result["start_times"].as_array().unwrap().len();
    let records = (0..count).map(|index| record(result, index)).collect();
    let mut footer = Footer::default();
    footer.ended = stamp(result["duration"].as_f64().unwrap());
    RunLog::new(Header::new(0, facts, Value::Null), records, Some(footer))
}

fn record(result: &Value, index: usize) -> RequestRecord {
    let number = |key: &str| result[key][index].as_f64().unwrap();
    let count = |key: &str| result[key][index].as_u64().unwrap() as u32;
    let start = number("start_times");
    let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 1, 1), Stamp::ZERO);
    recorder.record_sent(stamp(start));
    let mut now = start + number("ttfts");
    recorder.at(stamp(now)).delta(Delta::content("x"));
    for gap in numbers(&result["itls"][index]) {
        now += gap;
        recorder.at(stamp(now)).delta(Delta::content("x"));
    }
    let end = stamp(start + number("latencies"));
    recorder.at(end).usage(Usage::new(Some(count("input_lens")), Some(count("output_lens"))));
    recorder.finish(Ok(Finish::default()), end)
}

fn policy(spec: PlateauSpec) -> MetricPolicy {
    let mut policy = MetricPolicy::vllm().with_plateau(Some(spec));
    policy.percentiles = vec![99.0, 99.9, 90.0];
    policy
}

fn plateau(result: &Value, spec: PlateauSpec) -> Option<Plateau> {
    Metrics::score(&log(result), &policy(spec)).plateau
}

/// Compares to within a microsecond or a millionth: only some of the fixture's times are whole
/// nanoseconds.
#[track_caller]
fn same(ours: f64, peer: &Value) {
    let peer = peer.as_f64().unwrap();
    assert!((ours - peer).abs() <= 1e-6 * peer.abs().max(1.0), "{ours} is not {peer}");
}

#[test]
fn the_window_and_the_latencies_are_the_peers() {
    let result = recorded("limited.json");
    let (ours, peer) = (plateau(&result, PlateauSpec::default()).unwrap(), &result["steady_state"]);
    let (window, expected) = (ours.window, &peer["window"]);
    same(window.start_s, &expected["start_s"]);
    same(window.end_s, &expected["end_s"]);
    same(window.duration_s, &expected["duration_s"]);
    assert_eq!(window.target_concurrency, 4);
    assert_eq!(expected["threshold_abs"], window.threshold_requests);
    assert_eq!(expected["observed_peak"], window.observed_peak);
    assert_eq!(expected["requests_started_in_window"], window.requests_started);
    assert_eq!(expected["requests_total"], window.requests_total);
    same(ours.input_tokens_per_s, &peer["input_throughput"]);
    latencies(&ours.ttft, peer, "ttft");
    latencies(&ours.tpot, peer, "tpot");
    for [percent, value] in peer["percentiles_ttft_ms"].as_array().unwrap().iter().map(pair) {
        same(ours.ttft.percentile_ms(percent.as_f64().unwrap()).unwrap(), value);
    }
    same(ours.tpot.percentile_ms(90.0).unwrap(), &peer["p90_tpot_ms"]);
    same(ours.tpot.percentile_ms(99.0).unwrap(), &peer["p99_tpot_ms"]);
}

fn pair(value: &Value) -> [&Value; 2] {
    [&value[0], &value[1]]
}

fn latencies(ours: &Summary, peer: &Value, name: &str) {
    same(ours.mean_ms.unwrap(), &peer[format!("mean_{name}_ms")]);
    same(ours.median_ms.unwrap(), &peer[format!("median_{name}_ms")]);
}

#[test]
fn the_request_with_which_it_ends_counts_and_so_does_its_last_token() {
    let result = recorded("limited.json");
    let ours = plateau(&result, PlateauSpec::default()).unwrap();
    let (window, peer) = (ours.window, &result["steady_state"]);
    let completed = peer["window"]["requests_completed_in_window"].as_u64().unwrap();
    assert_eq!(window.requests_completed as u64, completed + 1);
    let more = (ours.output_tokens_per_s - peer["output_throughput"].as_f64().unwrap())
        * window.duration_s;
    assert!((more - 1.0).abs() < 1e-6, "{more}");
}

#[test]
fn it_is_called_short_below_ten_seconds_or_what_is_asked_for() {
    let result = recorded("limited.json");
    let short = plateau(&result, PlateauSpec::default()).unwrap().window.too_short.unwrap();
    assert!((short - 0.891).abs() < 0.001, "{short}");
    let spec = PlateauSpec { least_s: Some(0.5), ..PlateauSpec::default() };
    assert_eq!(plateau(&result, spec).unwrap().window.too_short, None);
}

#[test]
fn a_run_without_a_limit_or_below_it_has_none() {
    let mut result = recorded("limited.json");
    result["max_concurrency"] = 5.into();
    assert_eq!(plateau(&result, PlateauSpec::default()), None);
    let spec =
        PlateauSpec { threshold: ConcurrencyRatio::new(0.8).unwrap(), ..PlateauSpec::default() };
    assert!(plateau(&result, spec).is_some());
    result["max_concurrency"] = Value::Null;
    assert_eq!(plateau(&result, spec), None);
    let paced = log(&recorded("limited.json"));
    let mut header = paced.header().clone();
    header.facts.request_rate = Some(10.0);
    let paced = RunLog::new(header, paced.measured().cloned().collect(), None);
    assert_eq!(Metrics::score(&paced, &policy(spec)).plateau, None);
}
