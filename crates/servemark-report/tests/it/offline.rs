//! Texts and documents of the offline benchmarks, compared with vLLM's own.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use servemark_core::{
    Delta, Finish, Footer, Header, JsonObject, Phase, Recorder, RunFacts, RunLog, Sample, Sink,
    Stamp, Usage,
};
use servemark_metrics::{Audit, MetricPolicy, Metrics};
use servemark_report::{
    OfflineLatency, OfflineThroughput, Report, ReportFormat, SglangOfflineLine, SglangOfflineTable,
};

use crate::recorded::Recorded;

fn recorded(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vllm").join(name);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Checks that the text is vLLM's plus one line, and that the document is vLLM's plus one key.
#[track_caller]
fn check(case: &Value, text: &str, json: &str) {
    let theirs = case["stdout"].as_str().unwrap();
    let (ours, own) = text.trim_end().rsplit_once('\n').unwrap();
    assert!(own.starts_with("Measured over HTTP"), "{own}");
    assert!(theirs.ends_with(&format!("{ours}\n")), "{theirs}");
    let own = ",\n    \"measured_over\": \"http\"\n}";
    assert_eq!(json.strip_suffix(own).map(|rest| format!("{rest}\n}}")), Some(file(case)));
}

fn file(case: &Value) -> String {
    case["file"].as_str().unwrap().to_owned()
}

#[test]
fn throughput_is_told_as_vllm_tells_it() {
    let cases = recorded("throughput.json");
    let told: Vec<_> = cases.iter().filter(|case| !case["file"].is_null()).collect();
    assert_eq!(told.len(), 20, "a case was added or lost");
    for case in told {
        let ours = throughput(case);
        check(case, &ours.to_string(), &ours.to_json());
    }
}

/// Returns the throughput that the recording's stand-in for an engine produced.
fn throughput(case: &Value) -> OfflineThroughput {
    let argv: Vec<_> = case["argv"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let rows = case["rows"].as_array().unwrap();
    let sum = |key: &str| rows.iter().filter_map(|row| row[key].as_u64()).sum::<u64>();
    let mut made = of_a_run();
    "tokenizers/gpt2".clone_into(&mut made.model);
    made.seconds = case["seconds"].as_f64().unwrap();
    made.requests = rows.len();
    made.prompt_tokens = sum("prompt_len");
    made.output_tokens = sum("output_len") * if argv.contains(&"--n") { 2 } else { 1 };
    made
}

fn of_a_run() -> OfflineThroughput {
    let log = Recorded::from_name("brief").golden.log();
    let metrics = Metrics::score(&log, &MetricPolicy::vllm());
    let made = OfflineThroughput::of(&Report::new(&log, &metrics, &Audit::of(&log)));
    assert_eq!((made.requests, made.seconds), (metrics.requests.completed, metrics.duration_s));
    made
}

#[test]
fn latencies_are_told_as_vllm_tells_them() {
    let cases = recorded("latency.json");
    assert_eq!(cases.len(), 3, "a case was added or lost");
    for case in cases {
        let seconds = case["seconds"].as_array().unwrap().iter().filter_map(Value::as_f64);
        let mut facts = RunFacts::default();
        "tokenizers/gpt2".clone_into(&mut facts.model);
        let header = Header::new(0, facts, Value::Null);
        let ours = OfflineLatency::new(&header, seconds.collect());
        check(&case, &ours.to_string(), &ours.to_json());
    }
}

/// Returns one of the peer's in-process runs; all of its tokens belong to the first request.
fn offline_log(case: &Value) -> RunLog {
    let line: Value = serde_json::from_str(case["jsonl"].as_str().unwrap()).unwrap();
    let number = |key: &str| line[key].as_u64().unwrap() as u32;
    let seconds = Duration::from_secs_f64(case["seconds"].as_f64().unwrap());
    let records = (0..line["successful_requests"].as_u64().unwrap() as usize).map(|index| {
        let (input, output) = match index {
            0 => (number("total_input_tokens"), number("total_output_tokens")),
            _ => (0, 0),
        };
        let sample = Sample::new("", input, output);
        let mut recorder = Recorder::new(index, Phase::Measure, &sample, Stamp::ZERO);
        recorder.record_sent(Stamp::ZERO);
        let end = Stamp::ZERO + seconds;
        recorder.body(end, 0);
        recorder.at(end).delta(Delta::content("x").with_tokens(Some(output)));
        recorder.at(end).usage(Usage::new(Some(input), Some(output)));
        recorder.finish(Ok(Finish::default()), end)
    });
    let mut facts = RunFacts::default();
    "engine".clone_into(&mut facts.backend);
    let mut footer = Footer::default();
    footer.server_info = Some(json!({"internal_states": [{"last_gen_throughput": 123.456}]}));
    RunLog::new(Header::new(0, facts, Value::Null), records.collect(), Some(footer))
}

#[test]
fn an_engine_without_a_server_is_told_of_as_sglang_tells() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sglang/offline.json");
    let cases: Vec<Value> = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert_eq!(cases.len(), 5, "a case was added or lost");
    for case in cases {
        let log = offline_log(&case);
        let metrics = Metrics::score(&log, &MetricPolicy::sglang());
        let audit = Audit::of(&log);
        let report = Report::new(&log, &metrics, &audit);
        let written = |format: &dyn ReportFormat| {
            let mut out = Vec::new();
            format.write(&report, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(&SglangOfflineTable), case["console"].as_str().unwrap());
        let keys = |line: &str| -> Vec<String> {
            let line: JsonObject = serde_json::from_str(line).unwrap();
            line.keys().cloned().collect()
        };
        let theirs = keys(case["jsonl"].as_str().unwrap());
        assert_eq!(keys(&written(&SglangOfflineLine))[..theirs.len()], theirs);
    }
}
