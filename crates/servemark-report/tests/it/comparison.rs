//! Comparisons, byte for byte those of vLLM's Rust client, and what we add to them.

use std::fs;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};
use servemark_core::{Finish, Footer, Header, Phase, Recorder, RunFacts, RunLog, Sample, Stamp};
use servemark_metrics::{Audit, ComparedSide, Comparison, Doubt, Figure, MetricPolicy, ScoredRun};
use servemark_report::{Side, comparison_json, figure_in, write_comparison};

fn recorded(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/vllm/rust");
    fs::read_to_string(format!("{folder}/{name}")).unwrap()
}

fn result(name: &str) -> Value {
    serde_json::from_str(&recorded(name)).unwrap()
}

fn table(comparison: &Comparison, sides: &[Side; 2]) -> String {
    let mut out = Vec::new();
    write_comparison(comparison, sides, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[track_caller]
fn is_recorded(before: &str, after: &str, expected: &str) {
    let results = [before, after].map(result);
    let [read_a, read_b] = results.each_ref().map(|of| move |figure| figure_in(of, figure));
    let comparison = Comparison::of(&Figure::headline(), read_a, read_b);
    let sides = [Side::of_result(before, &results[0]), Side::of_result(after, &results[1])];
    assert_eq!(table(&comparison, &sides), recorded(expected));
}

#[test]
fn two_results_are_compared_as_vllm_does() {
    is_recorded("limited.json", "wider.json", "compare_wider.txt");
    is_recorded("limited.json", "unlimited.json", "compare_unlimited.txt");
}

#[test]
fn a_result_of_sglangs_is_read_by_its_own_keys() {
    let result = json!({"total_throughput": 5.0, "p99_e2e_latency_ms": 7, "mean_ttft_ms": null});
    let read = |name: &str| figure_in(&result, name.parse().unwrap());
    assert_eq!(read("total_token_throughput"), Some(5.0));
    assert_eq!(read("e2el:p99"), Some(7.0));
    assert_eq!(read("ttft:mean"), None);
}

/// A run of twenty requests, one at a time, of `latency_ms` to 19 ms more.
fn log(latency_ms: u64) -> RunLog {
    let mut now = Stamp::ZERO;
    let records = (0..20).map(|index| {
        let latency = Duration::from_millis(latency_ms + index as u64);
        let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 5, 1), now);
        recorder.sent(now);
        now = now + latency;
        recorder.body(now, 1);
        recorder.finish(Ok(Finish::default()), now)
    });
    let records = records.collect();
    let mut footer = Footer::default();
    footer.ended = now;
    RunLog::new(Header::new(0, RunFacts::default(), Value::Null), records, Some(footer))
}

#[test]
fn where_requests_are_known_the_table_tells_what_chance_would_do() {
    let (logs, policy) = ([log(100), log(150)], MetricPolicy::native());
    let [before, after] = logs.each_ref().map(|log| ScoredRun::of(log, &policy));
    let figures = ["request_throughput", "mean_e2el_ms", "completed"].map(|of| of.parse().unwrap());
    let comparison = Comparison::of_runs(&before, &after, &figures);
    let sides = ["a.jsonl", "b.jsonl"].map(Side::new);
    assert_snapshot!(table(&comparison, &sides), @"
    ================================== Benchmark Comparison ==================================
      A: a.jsonl (model: ?, date: ?)
      B: b.jsonl (model: ?, date: ?)

    Metric                                         A            B      Delta   Change  Beyond noise
    ----------------------------------- ------------ ------------ ---------- --------  ------------
    Request throughput (req/s)                  9.13         6.27      -2.86  -31.3%-  yes, worse
    Mean E2EL (ms)                            109.50       159.50     +50.00  +45.7%-  yes, worse
    Completed requests                            20           20         +0   +0.0%   unknown

    ====================== Steady-State Comparison =======================
    N/A — one or both runs have no steady-state window
    ==========================================================================================

    Legend: + = improvement, - = regression (relative to A → B)
    Beyond noise: whether the change is larger than chance within the two runs would make it,
    with 99 % confidence (bootstrap over requests; of rates, over twenty parts of the time).
    What differs between any two runs of the same is not in it: several runs tell that.
    ");
    let document = comparison_json(&comparison, &sides);
    assert_eq!((&document["judged"], &document["doubts"]), (&json!(true), &json!([])));
    assert_eq!(document["changes"][1]["worth"], "worse");
    assert_eq!(document["changes"][1]["metric"], "mean_e2el_ms");
    assert_eq!(document["changes"][2]["interval_of_delta"], Value::Null);
}

#[test]
fn a_run_whose_client_is_in_doubt_is_named_at_the_head_and_nothing_is_judged() {
    let (logs, policy) = ([log(100), log(150)], MetricPolicy::native());
    let doubt = Doubt::of(ComparedSide::After, &Audit::of(&logs[1])).expect("a suspect");
    let [before, after] = logs.each_ref().map(|log| ScoredRun::of(log, &policy));
    let figures = ["mean_e2el_ms", "completed"].map(|of| of.parse().unwrap());
    let comparison = Comparison::of_runs(&before, &after, &figures).with_doubts([doubt.clone()]);
    let sides = ["a.jsonl", "b.jsonl"].map(Side::new);
    let shown = table(&comparison, &sides);
    let head = format!("(--force judges all the same).\n  {doubt}\n\nMetric");
    assert!(shown.contains("\n\nNOT JUDGED: ") && shown.contains(&head), "{shown}");
    assert!(doubt.to_string().starts_with("the client of B was suspect: "), "{doubt}");
    let row = "Mean E2EL (ms)                            109.50       159.50     +50.00  +45.7%   \
               not judged\n";
    assert!(shown.contains(row), "{shown}");
    let document = comparison_json(&comparison, &sides);
    assert_eq!(document["judged"], false);
    assert_eq!(document["doubts"][0]["side"], "after");
    let change = &document["changes"][0];
    assert_eq!((&change["worth"], &change["better"]), (&json!("not_judged"), &Value::Null));
    let forced = table(&comparison.judged_anyway(), &sides);
    assert!(forced.contains("\n\nJUDGED BY FORCE: ") && forced.contains("yes, worse"), "{forced}");
}
