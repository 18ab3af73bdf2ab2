//! Verdicts on a run and its settled part, in the table and in JSON.

use serde_json::Value;
use servemark_core::{
    Delta, Finish, Footer, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog, Sample, Sink,
    Stamp, Usage,
};
use servemark_metrics::{Audit, MetricPolicy, Metrics};
use servemark_report::{NativeTable, Report, ScoreJson, SweepReport, SweepRow};

use crate::report_text;

fn at(milliseconds: u64) -> Stamp {
    Stamp::from_nanos(milliseconds * 1_000_000)
}

/// Returns an answer with four of the `requested` tokens, ten milliseconds apart. The time to first
/// token varies slightly between requests and is three times as long for the first sixty.
fn answer(index: usize, requested: u32) -> RequestRecord {
    let due = index as u64 * 100;
    let mut recorder =
        Recorder::new(index, Phase::Measure, &Sample::new("", 10, requested), at(due));
    recorder.granted(at(due));
    recorder.record_sent(at(due));
    let level = if index < 60 { 3 } else { 1 };
    let ttft = level * (100 + index as u64 * 7919 % 13);
    for token in 0..4 {
        recorder.body(at(due + ttft + 10 * token), 1);
        recorder.at(at(due + ttft + 10 * token)).delta(Delta::content("x"));
    }
    let end = at(due + ttft + 30);
    recorder.at(end).usage(Usage::new(Some(10), Some(4)));
    recorder.finish(Ok(Finish::default()), end)
}

fn log(requested: u32) -> RunLog {
    let mut facts = RunFacts::default();
    facts.api_path = "/v1/completions".into();
    facts.request_rate = Some(10.0);
    facts.requests = 300;
    let records = (0..300).map(|index| answer(index, requested)).collect();
    let mut footer = Footer::default();
    footer.ended = at(30_100);
    RunLog::new(Header::new(0, facts, Value::Null), records, Some(footer))
}

fn scored(log: &RunLog) -> (Metrics, Audit) {
    (Metrics::score(log, &MetricPolicy::native()), Audit::of(log))
}

fn section<'a>(table: &'a str, title: &str) -> &'a str {
    table.split("\n\n").find(|section| section.starts_with(title)).unwrap_or_default()
}

#[test]
fn verdicts_stand_at_the_head_and_the_settled_part_beside_the_whole() {
    let log = log(64);
    let (metrics, audit) = scored(&log);
    let table = report_text(&NativeTable::default(), &Report::new(&log, &metrics, &audit));
    let (head, _) = table.split_once("\nRun\n").unwrap();
    insta::assert_snapshot!(head, @r"
    Servemark report

    Verdicts
      client audit      suspect
      warming-up        TTFT (ms): 287.4 until 7.0 s (23 %), then 106.0; requests in flight: 3.3 until
                        6.5 s (22 %), then 1.4
      short-outputs     4 tokens of 64 asked for, on average
    ");
    insta::assert_snapshot!(section(&table, "Load as offered"), @r"
    Load as offered
      asked for         10.00 /s
      scheduled         10.00 /s
      sent              10.00 /s
      in flight, mean   1.78
      in flight, peak   4
      connections       0 opened, 0 reused
      settled part      from 7.0 s to 29.9 s; TTFT (ms): 287.4 until 7.0 s (23 %), then 106.0; requests
                        in flight: 3.3 until 6.5 s (22 %), then 1.4
    ");
    insta::assert_snapshot!(section(&table, "Whole run"), @r"
    Whole run and settled part (means in ms)
                          whole  settled  differs
      TTFT                148.3    106.0  -28.5 %
      TTST                10.00    10.00    0.0 %
      TPOT per request    10.00    10.00    0.0 %
      ITL per gap         10.00    10.00    0.0 %
      E2E                 178.3    136.0  -23.7 %
      requests/s           9.99    10.00   +0.1 %
      output tokens/s     39.96    40.00   +0.1 %
      in flight            1.78     1.36  -23.7 %
      requests              300      230
    ");
}

#[test]
fn a_script_reads_verdicts_with_their_reasons_and_the_settled_part() {
    let log = log(64);
    let (metrics, audit) = scored(&log);
    let json = report_text(
        &ScoreJson { slo: &[], until: &[], mlperf: None },
        &Report::new(&log, &metrics, &audit),
    );
    let json: Value = serde_json::from_str(&json).unwrap();
    let kinds: Vec<&str> = json["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|verdict| verdict["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["warming-up", "short-outputs"]);
    assert_eq!(json["verdicts"][1]["reason"], "4 tokens of 64 asked for, on average");
    let settled = &json["settled"];
    assert_eq!(
        (&settled["status"], &settled["figures"][0]["figure"]),
        (&"part".into(), &"ttft".into())
    );
    assert_eq!(settled["figures"][0]["level"], "settles");
    let mean = settled["part"]["latencies"]["ttft"]["mean_ms"].as_f64().unwrap();
    assert!((mean - 106.0).abs() < 1.0, "{mean}");
    // A percentile without bounds is present, with a statement of what it lacks.
    let p99 = &json["metrics"]["ttft_ms"]["p99"];
    assert!(p99["value"].is_number() && p99["low"].is_null(), "{p99}");
    assert_eq!(p99["too_short"], true);
}

#[test]
fn a_sweep_tells_the_verdicts_of_its_points() {
    let log = log(4);
    let (metrics, audit) = scored(&log);
    let report = SweepReport::of([SweepRow::new("one", &[], &metrics, &audit)]);
    let mut table = Vec::new();
    report.write(servemark_report::TableFormat::Markdown, &mut table).unwrap();
    let table = String::from_utf8(table).unwrap();
    assert!(table.contains("| run verdicts |") && table.contains("| warming-up |"), "{table}");
}
