//! The lines about every request.

use serde_json::{Value, json};
use servemark_core::{
    Delta, ErrorKind, Finish, Header, Phase, Recorder, RequestError, RunFacts, RunLog, Sample,
    Sink, Stamp,
};
use servemark_metrics::{Audit, MetricPolicy, Metrics};
use servemark_report::{Report, RequestLines};

use crate::report_text;

/// Returns the run that the peer was recorded with, plus a failure.
fn log() -> RunLog {
    let mut facts = RunFacts::default();
    facts.target = "$BASE_URL".into();
    facts.api_path = "/v1/chat/completions".into();
    facts.model = "tokenizers/gpt2".into();
    let extra = json!({"temperature": 0.5, "stop": ["é", "\\n"], "seed": 7, "nested": {"b": 1e-7, "a": null}});
    let plan = json!({"wire": {"extra_body": extra}});
    let at = |milliseconds: u64| Stamp::from_nanos(milliseconds * 1_000_000);
    let begin = |index, start| {
        let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 4, 5), at(start));
        recorder.record_sent(at(start));
        recorder
    };
    let mut fine = begin(0, 250);
    for (time, text) in [(300, "one"), (350, " two"), (500, " three")] {
        fine.body(at(time), 1);
        fine.at(at(time)).delta(Delta::content(text));
    }
    let failed = begin(1, 400);
    let error = RequestError::new(ErrorKind::Status, "it's 500");
    let records =
        vec![fine.finish(Ok(Finish::default()), at(500)), failed.finish(Err(error), at(450))];
    RunLog::new(Header::new(1_700_000_000_000_000_000, facts, plan), records, None)
}

fn lines() -> Vec<String> {
    let log = log();
    let metrics = Metrics::score(&log, &MetricPolicy::sglang());
    let written = report_text(&RequestLines, &Report::new(&log, &metrics, &Audit::of(&log)));
    written.lines().map(str::to_owned).collect()
}

/// Lines that the peer printed about its request.
fn recorded() -> Vec<String> {
    let path = "/../../fixtures/sglang/bodies/print_requests_sglang-oai-chat.json";
    let text = std::fs::read(format!("{}{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let recording: Value = serde_json::from_slice(&text).unwrap();
    let printed = recording["stdout_before_report"].as_str().unwrap();
    let lines = printed.lines().filter(|line| line.starts_with("rid="));
    lines.map(str::to_owned).collect()
}

#[test]
fn the_lines_are_the_peers() {
    let (ours, peer) = (lines(), recorded());
    let rid = |line: &str| line["rid=".len()..][..36].to_owned();
    let filled = |line: &str, ours: &str, values: &[&str]| {
        let line = line.replace("$RID", &rid(ours)).replace("itl=$GAPS", "itl=[0.05, 0.15]");
        values.iter().fold(line, |line, value| line.replacen("$SECONDS", value, 1))
    };
    assert_eq!(ours[0], filled(&peer[0], &ours[0], &["1700000000.25"]));
    let seconds = ["1700000000.5", "0.25", "0.25", "0.05", "0.25"];
    assert_eq!(ours[3], filled(&peer[1], &ours[3], &seconds));
}

#[test]
fn lines_come_in_the_order_of_their_times_and_share_an_id_by_request() {
    let lines = lines();
    let kinds: Vec<bool> = lines.iter().map(|line| line.contains("request start")).collect();
    assert_eq!(kinds, [true, true, false, false]);
    let id = |line: &String| line[..40].to_owned();
    assert_eq!((id(&lines[0]), id(&lines[1])), (id(&lines[3]), id(&lines[2])));
    assert_ne!(id(&lines[0]), id(&lines[1]));
}

#[test]
fn a_failure_shows_its_error_and_no_latency() {
    let failed = &lines()[2];
    for part in ["success=False, latency=0.0, ttft=0.0,", "error=\"it's 500\"", "output_len=0,"] {
        assert!(failed.contains(part), "{part}: {failed}");
    }
}
